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

    // The bias of a pair in `ordo table`, for an encoding whose bias depends on more than the distance.
    virtual double between(int slot, int head, int query, int key) const {
        return value(slot, head, std::int64_t{query} - key);
    }
    virtual double operations_per_pair(const Work&) const { return 1; }

    // ---- Derived from the formula ------------------------------------------------------------
    void prepare(int n_positions) override;
    void bias(View scores, const Tile& tile) const override;
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override;
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? operations_per_pair(work) * work.pairs : 0};
    }
    std::vector<NamedTable> tables() const override { return {bias_table()}; }

protected:
    NamedTable bias_table() const; // of one head, [length, length]
    void build() override;

    const DistanceTable& distances() const { return table_; }
    int table_row(const Tile& tile) const { return slot(tile.layer) * heads() + tile.head; }

private:
    DistanceTable table_{0, false, {}}; // of the heads of each slot
};

} // namespace ordo
