// SPDX-License-Identifier: MIT
// Biases that depend on the distance between query and key alone, as a table of rows (heads, or layers times heads):
//   score(i, j) += bias(row, p_i - p_j)
// ALiBi, T5, KERPLE, Sandwich and FIRE share it. A distance is signed: a key before its query has a positive one.
#pragma once

#include "core/tensor.h"
#include "encoding/base/consecutive.h"

namespace ordo {

class DistanceTable {
public:
    // The closed form. bias(row, distance) is called for distances outside the table.
    using Bias = std::function<float(int row, std::int64_t distance)>;

    // ahead: queries attend to later keys, as in a bidirectional model. Otherwise the mask hides these keys.
    DistanceTable(int rows, bool ahead, Bias bias) : rows_(rows), ahead_all_(ahead), bias_(std::move(bias)) {}

    // Fills the table with distances up to n_positions - 1 back, and as many ahead; fewer if they would take more than
    // 64 MiB. Each call computes it again, because parameters may have changed.
    void prepare(int n_positions);

    // scores [n_queries, n_keys] += bias of one row. Keys whose positions follow each other take a slice of the table.
    void add(View scores, int row, const Tile& tile) const { add(scores, row, tile, consecutive(tile.keys)); }
    // The same for a caller that knows whether the keys are consecutive.
    void add(View scores, int row, const Tile& tile, bool consecutive_keys) const;

    int rows() const { return rows_; }
    float value(int row, std::int64_t distance) const {
        const std::int64_t at = index(distance);
        return at >= 0 && at < width_ ? row_of(row)[at] : bias_(row, distance);
    }

private:
    // Ascending with the position of the key, so that keys in order take a slice in order.
    std::int64_t index(std::int64_t distance) const { return back_ - 1 - distance; }
    // Adds the bias of keys [first, last) to a query of a tile, for any positions.
    void add_one_by_one(float* scores, int row, const Tile& tile, int query, std::int64_t first,
                        std::int64_t last) const;
    void fetch_next(int row, std::int64_t at, std::int64_t n) const; // [at, at + n) of the rows after this one
    const float* row_of(int row) const { return table_.data() + row * width_; }

    int rows_;
    bool ahead_all_;
    Bias bias_;
    std::int64_t back_ = 0;  // distances 0 .. back_ - 1, and those ahead
    std::int64_t width_ = 0; // of a row
    Buffer<float> table_;    // [rows, width]
};

// The gradient of such a bias: calls visit(distance, sum) with the sum of the gradients of all scores of a tile at that
// distance. The order depends on the tile alone. Sums of zero may be skipped, and a distance may come more than once.
void sum_by_distance(View d_scores, const Tile& tile,
                     const std::function<void(std::int64_t distance, float sum)>& visit);

} // namespace ordo
