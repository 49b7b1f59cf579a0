// SPDX-License-Identifier: MIT
// Vectors that belong to relative positions, shared by Shaw, Transformer-XL and DeBERTa. A tile of queries is
// multiplied with a range of vectors in one small product P = x . rows^T, from which each score reads its number. The
// vectors of all pairs, n_queries x n_keys x e floats, are never stored, and each product is computed once.
//   row(i, j) = clamp(key_j - query_i, least, most)
// The order of each sum depends on neither the tile nor its neighbours, so a chunk gives the same bits.
#pragma once

#include "core/tensor.h"
#include "encoding/base/consecutive.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ordo {

// The most rows of x, and the most vectors, in one product: P is an array on the stack.
inline constexpr int relative_tile = 24, relative_span = 128; // relative_span is a power of two, as is relative_vector
inline constexpr int relative_vector = 16; // products are of whole vectors, which is much faster than of parts
using RelativeProducts = float[relative_tile][relative_span];

// The rows of a matrix [rows, e], transposed for products: slabs of 64 rows, each [e, 64].
class TurnedRows {
public:
    static constexpr int slab = 64;

    TurnedRows() = default;
    TurnedRows(int rows, int e)
        : rows_(rows), e_(e), values_(static_cast<std::size_t>((rows + slab - 1) / slab) * slab_floats()) {}

    int rows() const { return rows_; }
    float* slab_of(int row) { return values_.data() + static_cast<std::size_t>(row / slab) * slab_floats(); }
    const float* slab_of(int row) const {
        return values_.data() + static_cast<std::size_t>(row / slab) * slab_floats();
    }
    void set(View rows); // all of them, [rows, e]

    // out [x.rows, count] = alpha * x [.., e] . rows[first .. first + count). first is a multiple of relative_vector,
    // and out is written up to the next multiple of it.
    void multiply(float alpha, View x, int first, int count, View out) const;

private:
    std::size_t slab_floats() const { return static_cast<std::size_t>(e_) * slab; }

    int rows_ = 0, e_ = 0;
    Buffer<float> values_;
};

// A range of relative positions for the pairs of a tile, and the row of each pair.
struct RelativeRows {
    static constexpr std::int64_t any = std::int64_t{1} << 40; // larger than any distance of positions

    std::int64_t least = -any, most = any;
    bool hides_later = false; // keys are in order, and those whose row would be above `most` are hidden: none is
                              // clamped to it

    std::int64_t row(int query, int key) const { return std::min(std::max(std::int64_t{key} - query, least), most); }
};

// The keys of each row for one query, if keys are in the order of their positions. Keys [0, left) have the first row
// and [right, end) the last, where the clamp is reached; keys from `end` on are hidden. Key j between them has row base
// + j.
struct RelativeCut {
    int left, right, end;
    std::int64_t base;
};

// The pairs of some queries with all keys of a tile.
class RelativePairs {
public:
    // At most relative_tile queries.
    RelativePairs(RelativeRows rows, Positions queries, Positions keys);

    std::int64_t row(int i, int j) const { return rows_.row(queries_[i], keys_[j]); }
    std::int64_t first_row() const { return first_; }
    std::int64_t last_row() const { return last_; } // all pairs have rows from first_row() to last_row(), both included
    // True if most rows in this range belong to no pair, as with positions that have large gaps.
    bool sparse() const;

    // Calls use(row, count) for spans of rows that cover all pairs. A span has at most relative_span rows, is cut at
    // multiples of relative_span from `origin`, and begins at a multiple of relative_vector from there.
    template <class Use>
    void for_spans(std::int64_t origin, const Use& use) const {
        for (std::int64_t row = down(first_, relative_vector, origin); row <= last_;) {
            const std::int64_t end = std::min(down(row, relative_span, origin) + relative_span, last_ + 1);
            use(row, static_cast<int>(end - row));
            row = end;
        }
    }
    // The last row up to `row` whose distance from `origin` is a multiple of `to`, a power of two.
    static std::int64_t down(std::int64_t row, int to, std::int64_t origin) {
        return row - ((row - origin) & (to - 1));
    }

    // to[i][j] += products[i][row(i, j) - first], for the pairs whose row is in [first, first + count).
    void spread(const RelativeProducts& products, std::int64_t first, int count, View to) const;
    // products[i][r - first] = the sum of weights[i][j] over the keys of row r.
    void collect(View weights, std::int64_t first, int count, RelativeProducts& products) const;

private:
    RelativeRows rows_;
    Positions queries_, keys_;
    bool in_order_;
    std::int64_t first_ = 0, last_ = 0;
};

// Calls use(first, count, pairs) for at most relative_tile queries at a time.
template <class Use>
void for_query_tiles(RelativeRows rows, Positions queries, Positions keys, int at_once, const Use& use) {
    if (keys.empty()) return;
    const int n = static_cast<int>(queries.size());
    for (int first = 0; first < n; first += at_once) {
        const int count = std::min(at_once, n - first);
        use(first, count, RelativePairs(rows, queries.subspan(first, count), keys));
    }
}

// A table with one row for each relative position from least <= 0 to most. Positions beyond are clamped. All tiles have
// the same mask.
class RelativeTable {
public:
    RelativeTable(int least, int most, Mask mask) : range_{least, most}, mask_(mask) {}

    int rows() const { return static_cast<int>(range_.most - range_.least) + 1; }
    View view() const { return rows_; }
    void bind(View rows) { rows_ = rows; } // [rows(), e], owned by the caller
    void prepare();                        // call it when the rows have changed
    bool covers(const Tile& tile) const;   // whether no pair that the mask leaves is clamped
    // Calls use(row of the table, count) for spans of rows that cover the pairs of a tile.
    template <class Use>
    void for_spans(const Tile& tile, const Use& use) const {
        RelativePairs(rows_of_pairs(tile), tile.queries, tile.keys)
            .for_spans(range_.least, [&](std::int64_t row, int count) { use(index(row), count); });
    }

    // to[i][j] += alpha * x_i . row(i, j), x [n_queries, e]
    void add_products(float alpha, View x, const Tile& tile, View to) const;
    // to_i += alpha * the sum over j of weights[i][j] row(i, j)
    void add_rows(float alpha, View weights, const Tile& tile, View to) const;
    // grad[row(i, j)] += alpha * weights[i][j] x_i
    void add_gradient(float alpha, View weights, View x, const Tile& tile, View grad) const;

    // The same with a vector for each key, x [n_keys, e]: to[i][j] += alpha * x_j . row(i, j). These need no prepare().
    void add_products_of_keys(float alpha, View x, const Tile& tile, View to) const;
    void add_rows_of_keys(float alpha, View weights, const Tile& tile, View to) const;
    void add_gradient_of_keys(float alpha, View weights, View x, const Tile& tile, View grad) const;

private:
    void add_products_of_keys(float alpha, View x, int query, Positions keys, float* to) const;
    // A tile of one query whose keys are in order and whose rows fit one span: the case of a decoded token. It needs no
    // list of pairs.
    struct OneQuery {
        RelativeCut cut;
        std::int64_t first; // of the span
        int count;
    };
    std::optional<OneQuery> one_query(RelativeRows rows, const Tile& tile) const;

    RelativeRows rows_of_pairs(const Tile& tile) const; // the rows that the mask leaves
    int index(std::int64_t row) const { return static_cast<int>(row - range_.least); }

    RelativeRows range_;
    Mask mask_;
    View rows_;         // [rows(), e]
    TurnedRows turned_; // rows_, transposed
};

} // namespace ordo
