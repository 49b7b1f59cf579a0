// SPDX-License-Identifier: MIT
// Biases that depend on the distance between query and key alone, as a table of rows (heads, or layers times heads):
//   score(i, j) += bias(row, p_i - p_j)
// What ALiBi, T5, KERPLE, Sandwich and FIRE share. A distance is signed: that of a key behind its query is positive.
#pragma once

#include "core/tensor.h"
#include "encoding/base/consecutive.h"

namespace ordo {

class DistanceTable {
public:
    // The closed form, for any distance; bias(row, distance) is called for distances that the table does not have.
    using Bias = std::function<float(int row, std::int64_t distance)>;

    // ahead: keys after their query are met, as in a bidirectional model, and not just hidden by the mask.
    DistanceTable(int rows, bool ahead, Bias bias) : rows_(rows), ahead_all_(ahead), bias_(std::move(bias)) {}

    // Distances up to n_positions - 1 back, and as many ahead, computed again at each call: parameters may have
    // changed. Fewer if they would take more than 64 MiB.
    void prepare(int n_positions);

    // scores [n_queries, n_keys] += bias of one row. Keys whose positions follow each other take a slice of the table.
    void add(View scores, int row, const Tile& tile) const { add(scores, row, tile, consecutive(tile.keys)); }
    // The same for who knows whether they do.
    void add(View scores, int row, const Tile& tile, bool consecutive_keys) const;

    int rows() const { return rows_; }
    float value(int row, std::int64_t distance) const {
        const std::int64_t at = index(distance);
        return at >= 0 && at < width_ ? row_of(row)[at] : bias_(row, distance);
    }

private:
    // Ascending with the position of the key, so that keys in order take a slice in order.
    std::int64_t index(std::int64_t distance) const { return back_ - 1 - distance; }
    // Keys [first, last) of a tile's query, whatever their positions.
    void add_one_by_one(float* scores, int row, const Tile& tile, int query, std::int64_t first,
                        std::int64_t last) const;
    void fetch_next(int row, std::int64_t at, std::int64_t n) const; // [at, at + n) of the rows that come after one
    const float* row_of(int row) const { return table_.data() + row * width_; }

    int rows_;
    bool ahead_all_;
    Bias bias_;
    std::int64_t back_ = 0;  // distances 0 .. back_ - 1, and those ahead
    std::int64_t width_ = 0; // of a row
    Buffer<float> table_;    // [rows, width]
};

// The gradient of such a bias: calls visit(distance, sum) with the sum of the gradients of all scores of a tile that
// are at that distance, in an order that depends on the tile alone. Sums of zero may be left out; a distance may come
// again.
void sum_by_distance(View d_scores, const Tile& tile,
                     const std::function<void(std::int64_t distance, float sum)>& visit);

} // namespace ordo
