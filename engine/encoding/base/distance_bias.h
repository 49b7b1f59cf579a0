// SPDX-License-Identifier: MIT
// Encodings whose bias depends on the distance alone: score(i, j) += value(head, p_i - p_j). Such an encoding defines
// value(), its tensors, and the gradient of value() with respect to them. A distance is positive for a key before its
// query.
#pragma once

#include "encoding/base/distance_table.h"
#include "encoding/base/registered.h"

namespace ordo {

class DistanceBias : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;

    // ---- The formula -------------------------------------------------------------------------
    virtual double value(int slot, int head, std::int64_t distance) const = 0;
    // value() as it is added to scores.
    virtual float added(int slot, int head, std::int64_t distance) const {
        return static_cast<float>(value(slot, head, distance));
    }
    // Backward of value(), whose gradient is d. Adds to sums, which has one number for each of tensors(); the last axis
    // of each tensor is the heads.
    virtual void value_backward(int /*slot*/, int /*head*/, std::int64_t /*distance*/, double /*d*/,
                                std::span<double> /*sums*/) const {}

    // A second table of `ordo table`, with numbers for each head. Without columns there is none.
    struct HeadTable {
        std::string name;
        std::vector<std::string> columns;
        std::function<std::vector<double>(int slot, int head)> numbers;
    };
    virtual HeadTable head_table() const { return {}; }

    // ---- Derived from the formula ------------------------------------------------------------
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
    // The number of a head in a tensor [n_heads] of a slot.
    float at(int slot, std::size_t i, int head) const { return tensor(slot, i).row(0)[head]; }
    // A tensor [n_heads] in each layer.
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
