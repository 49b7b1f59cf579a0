// SPDX-License-Identifier: MIT
// Vectors that belong to relative positions: what Shaw, Transformer-XL and DeBERTa share. A tile of queries meets a
// range of them in one small product P = x . rows^T, and every score picks its number from it: the vectors of all
// pairs, n_queries x n_keys x e floats, never exist, and no product is computed twice.
//   row(i, j) = clamp(key_j - query_i, least, most)
// Which sums are taken in which order depends on neither the tile nor the neighbours, so that a chunk changes no bit.
#pragma once

#include "core/tensor.h"
#include "encoding/base/consecutive.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ordo {

// At most so many rows of x, and so many vectors, meet at once: P is an array on the stack.
inline constexpr int relative_tile = 24, relative_span = 128; // the span is a power of two, as is a vector
inline constexpr int relative_vector = 16; // products are taken of whole ones, which is much faster than of parts
using RelativeProducts = float[relative_tile][relative_span];

// The rows of a matrix [rows, e], turned for products: slabs of 64 rows, each [e, 64].
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

// Some rows of one tile, and the numbers of their products.
struct RelativeRows {
    static constexpr std::int64_t any = std::int64_t{1} << 40; // further than positions can be apart

    std::int64_t least = -any, most = any;
    bool hides_later = false; // keys, in order, whose row would be above `most` are hidden: none is clamped to it

    std::int64_t row(int query, int key) const { return std::min(std::max(std::int64_t{key} - query, least), most); }
};

// Which keys of one query are of which rows, if they lie in the order of their positions: [0, left) are of the first
// row, [right, end) of the last, where the clamp is reached, and those from `end` on are hidden. Row base + j is key
// j's between.
struct RelativeCut {
    int left, right, end;
    std::int64_t base;
};

// The pairs of some queries and all keys of a tile.
class RelativePairs {
public:
    // At most relative_tile queries.
    RelativePairs(RelativeRows rows, Positions queries, Positions keys);

    std::int64_t row(int i, int j) const {
        return rows_.row(queries_[static_cast<std::size_t>(i)], keys_[static_cast<std::size_t>(j)]);
    }
    std::int64_t first_row() const { return first_; }
    std::int64_t last_row() const { return last_; } // the rows of all pairs lie between, both included
    // True if most rows between belong to no pair: positions with large gaps.
    bool sparse() const;

    // use(row, count) for spans of rows that hold those of all pairs: at most relative_span, cut at multiples of that
    // from `origin`, and beginning at whole vectors from there.
    template <class Use>
    void for_spans(std::int64_t origin, const Use& use) const {
        for (std::int64_t row = down(first_, relative_vector, origin); row <= last_;) {
            const std::int64_t end = std::min(down(row, relative_span, origin) + relative_span, last_ + 1);
            use(row, static_cast<int>(end - row));
            row = end;
        }
    }
    // The last row up to `row` that is a multiple of `to`, a power of two, from `origin`.
    static std::int64_t down(std::int64_t row, int to, std::int64_t origin) {
        return row - ((row - origin) & (to - 1));
    }

    // to[i][j] += products[i][row(i, j) - first], for the pairs whose row is one of `count` from first.
    void spread(const RelativeProducts& products, std::int64_t first, int count, View to) const;
    // products[i][r - first] = the sum of weights[i][j] over the keys of row r.
    void collect(View weights, std::int64_t first, int count, RelativeProducts& products) const;

private:
    RelativeRows rows_;
    Positions queries_, keys_;
    bool in_order_;
    std::int64_t first_ = 0, last_ = 0;
};

// use(first, count, pairs) for some queries at a time, at most relative_tile.
template <class Use>
void for_query_tiles(RelativeRows rows, Positions queries, Positions keys, int at_once, const Use& use) {
    if (keys.empty()) return;
    const int n = static_cast<int>(queries.size());
    for (int first = 0; first < n; first += at_once) {
        const int count = std::min(at_once, n - first);
        use(first, count,
            RelativePairs(rows, queries.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                          keys));
    }
}

// A table of one row for each relative position from least <= 0 to most, and its clamp beyond, of tiles under one mask.
class RelativeTable {
public:
    RelativeTable(int least, int most, Mask mask) : range_{least, most}, mask_(mask) {}

    int rows() const { return static_cast<int>(range_.most - range_.least) + 1; }
    int least() const { return static_cast<int>(range_.least); }
    View view() const { return rows_; }
    void bind(View rows) { rows_ = rows; } // [rows(), e], of the caller
    void prepare();                        // when the rows have changed

    // to[i][j] += alpha * x_i . row(i, j), x [n_queries, e]
    void add_products(float alpha, View x, const Tile& tile, View to) const;
    // to_i += alpha * the sum over j of weights[i][j] row(i, j)
    void add_rows(float alpha, View weights, const Tile& tile, View to) const;
    // grad[row(i, j)] += alpha * weights[i][j] x_i
    void add_gradient(float alpha, View weights, View x, const Tile& tile, View grad) const;

    // The same with a vector for each key, x [n_keys, e]: to[i][j] += alpha * x_j . row(i, j); needs no prepare().
    void add_products_of_keys(float alpha, View x, const Tile& tile, View to) const;
    void add_rows_of_keys(float alpha, View weights, const Tile& tile, View to) const;
    void add_gradient_of_keys(float alpha, View weights, View x, const Tile& tile, View grad) const;

private:
    void add_products_of_keys(float alpha, View x, int query, Positions keys, float* to) const;
    // A tile of one query, its keys in order and their rows in one span: what a decoded token asks for, and for
    // which no list of pairs is made.
    struct OneQuery {
        RelativeCut cut;
        std::int64_t first; // of the span
        int count;
    };
    std::optional<OneQuery> one_query(RelativeRows rows, const Tile& tile) const;

    RelativeRows rows_of_pairs(const Tile& tile) const; // those that the mask leaves
    int index(std::int64_t row) const { return static_cast<int>(row - range_.least); }

    RelativeRows range_;
    Mask mask_;
    View rows_;         // [rows(), e]
    TurnedRows turned_; // the same
};

// A table of the vectors of one layer, or of one head of it: "distance" (key - query) and a column for each dimension.
// tables: of each layer, or of each of its heads. Throws Error(usage) for a layer or head that is not there, or if
// there are no weights.
std::function<TableRows(const TableRequest&)>
relative_table(const Encoding& encoding, const std::vector<RelativeTable>& tables, const Dims& dims);

} // namespace ordo
