// SPDX-License-Identifier: MIT
// Encodings whose bias depends on the distance alone: score(i, j) += value(head, p_i - p_j). An encoding of this kind
// is its value(), its tensors, and the gradient of value() by them. A distance is positive for a key before its query.
#pragma once

#include "encoding/base/distance_table.h"
#include "encoding/base/registered.h"

namespace ordo {

class DistanceBias : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;

    // ---- The formula -------------------------------------------------------------------------
    virtual double value(int slot, int head, std::int64_t distance) const = 0;
    // The same as it is added to scores.
    virtual float added(int slot, int head, std::int64_t distance) const {
        return static_cast<float>(value(slot, head, distance));
    }
    // d value(): adds to sums, one for each of tensors(), whose last axis has one number for each head.
    virtual void value_backward(int /*slot*/, int /*head*/, std::int64_t /*distance*/, double /*d*/,
                                std::span<double> /*sums*/) const {}

    // A second table of `ordo table`, of numbers that each head has. None if there are no columns.
    struct HeadTable {
        std::string name;
        std::vector<std::string> columns;
        std::function<std::vector<double>(int slot, int head)> numbers;
    };
    virtual HeadTable head_table() const { return {}; }

    // ---- What follows from it ----------------------------------------------------------------
    unsigned moments() const override { return moment_bias; }
    void prepare(int n_positions) override;
    void bias(View scores, const Tile& tile) const override;
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override;
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? work.pairs : 0};
    }
    // table: the bias of one head, [length, length].
    std::vector<NamedTable> tables() const override;

protected:
    int heads() const { return dims().n_heads; }
    // Of a tensor [n_heads] of a slot, the number of a head.
    float at(int slot, std::size_t i, int head) const { return tensor(slot, i).row(0)[head]; }
    // A tensor [n_heads] of each layer.
    TensorSpec per_head(std::string name, InitialValues initial) const {
        return {.name = std::move(name), .shape = {heads()}, .initial = std::move(initial), .per_layer = true};
    }
    void ready() override;

    const DistanceTable& distances() const { return table_; }
    int table_row(const Tile& tile) const { return slot(tile.layer) * heads() + tile.head; }

private:
    DistanceTable table_{0, false, {}}; // of the heads of each slot
};

} // namespace ordo
