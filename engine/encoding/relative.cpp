// SPDX-License-Identifier: MIT
#include "encoding/relative.h"

#include "core/error.h"
#include "encoding/spec.h"
#include "encoding/table.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cassert>

namespace ordo {
namespace {

constexpr int lanes = 32; // partial sums of the weights beyond the clamp, key j into sum j mod 32

class LaneSum {
public:
    LaneSum() = default;
    LaneSum(const float* weights, int first, int last) { add(weights, first, last); }

    void add(const float* weights, int first, int last) {
        int j = first;
        for (; j < last && j % lanes != 0; ++j) lane[j % lanes] += weights[j];
        if (j < last) kernels().add_to_lanes(last - j, weights + j, lane);
    }
    // Each half to the other, until one is left; of compile-time sizes, so that vectors do it.
    float sum() {
        fold<lanes / 2>();
        fold<lanes / 4>();
        fold<lanes / 8>();
        return (lane[0] + lane[2]) + (lane[1] + lane[3]);
    }

private:
    template <int half>
    void fold() {
        static_assert(half >= 4);
        for (int l = 0; l < half; ++l) lane[l] += lane[l + half];
    }

    alignas(64) float lane[lanes] = {};
};

struct Extent {
    int least, most;
};
Extent extent(Positions p, bool in_order) {
    if (in_order) return {p[0], p[p.size() - 1]};
    Extent all{p[0], p[0]};
    for (std::size_t i = 1; i < p.size(); ++i) all = {std::min(all.least, p[i]), std::max(all.most, p[i])};
    return all;
}

} // namespace

// ---- TurnedRows --------------------------------------------------------------------------------

void TurnedRows::set(View rows) {
    for (int i = 0; i < rows_; ++i) {
        const float* from = rows.row(i);
        float* to = slab_of(i) + i % slab;
        for (int c = 0; c < e_; ++c) to[c * slab] = from[c];
    }
}

void TurnedRows::multiply(float alpha, View x, int first, int count, View out) const {
    assert(first % relative_vector == 0);
    const int whole = (count + relative_vector - 1) / relative_vector * relative_vector;
    for (int done = 0; done < whole;) {
        const int at = first + done, width = std::min(whole - done, slab - at % slab);
        kernels().product(x.rows, width, e_, alpha, x.data, x.stride, 1, slab_of(at) + at % slab, slab, 0,
                          out.data + done, out.stride);
        done += width;
    }
}

// ---- RelativePairs ----------------------------------------------------------------------------

RelativePairs::RelativePairs(RelativeRows rows, Positions queries, Positions keys)
    : rows_(rows), queries_(queries), keys_(keys), in_order_(consecutive(keys)) {
    const Extent of_keys = extent(keys, in_order_), of_queries = extent(queries, false);
    first_ = rows_.row(of_queries.most, of_keys.least);
    last_ = rows_.row(of_queries.least, of_keys.most);
}

bool RelativePairs::sparse() const {
    return last_ - first_ > 8 * static_cast<std::int64_t>(queries_.size() + keys_.size());
}

RelativePairs::Cut RelativePairs::cut(std::size_t query) const {
    const auto n = static_cast<std::int64_t>(keys_.size());
    const std::int64_t base = std::int64_t{keys_[0]} - queries_[query];
    const std::int64_t left = std::clamp<std::int64_t>(rows_.least - base + 1, 0, n);
    const std::int64_t last = std::clamp<std::int64_t>(rows_.most - base + rows_.hides_later, left, n);
    return {static_cast<int>(left), static_cast<int>(last), static_cast<int>(rows_.hides_later ? last : n), base};
}

void RelativePairs::spread(const RelativeProducts& products, std::int64_t first, int count, View to) const {
    const Kernels& k = kernels();
    const int n = static_cast<int>(keys_.size());
    const std::int64_t end = first + count;
    const bool has_least = rows_.least >= first && rows_.least < end,
               has_most = rows_.most >= first && rows_.most < end;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
        const float* from = products[i];
        float* out = to.row(static_cast<int>(i));
        if (!in_order_) {
            for (int j = 0; j < n; ++j) {
                const std::int64_t row = rows_.row(queries_[i], keys_[static_cast<std::size_t>(j)]);
                if (row >= first && row < end) out[j] += from[row - first];
            }
            continue;
        }
        const Cut at = cut(i);
        if (has_least && at.left > 0) k.add_value(at.left, from[rows_.least - first], out);
        const std::int64_t begin = std::max<std::int64_t>(at.left, first - at.base);
        const std::int64_t stop = std::min<std::int64_t>(at.right, end - at.base);
        if (begin < stop) k.add(static_cast<int>(stop - begin), from + (at.base + begin - first), out + begin);
        if (has_most && at.right < at.end) k.add_value(at.end - at.right, from[rows_.most - first], out + at.right);
    }
}

void RelativePairs::collect(View weights, std::int64_t first, int count, RelativeProducts& products) const {
    const int n = static_cast<int>(keys_.size());
    const std::int64_t end = first + count;
    const bool has_least = rows_.least >= first && rows_.least < end,
               has_most = rows_.most >= first && rows_.most < end;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
        const float* from = weights.row(static_cast<int>(i));
        float* to = products[i];
        std::fill(to, to + count, 0.0f);
        if (in_order_) {
            const Cut at = cut(i);
            const std::int64_t begin = std::max<std::int64_t>(at.left, first - at.base);
            const std::int64_t stop = std::min<std::int64_t>(at.right, end - at.base);
            if (begin < stop) std::copy(from + begin, from + stop, to + (at.base + begin - first));
            if (has_least && at.left > 0) to[rows_.least - first] += LaneSum(from, 0, at.left).sum();
            if (has_most && at.right < at.end) to[rows_.most - first] += LaneSum(from, at.right, at.end).sum();
        } else {
            LaneSum left, right;
            for (int j = 0; j < n; ++j) {
                const std::int64_t row = rows_.row(queries_[i], keys_[static_cast<std::size_t>(j)]);
                if (row == rows_.least)
                    left.add(from, j, j + 1);
                else if (row == rows_.most)
                    right.add(from, j, j + 1);
                else if (row >= first && row < end)
                    to[row - first] += from[j];
            }
            if (has_least) to[rows_.least - first] += left.sum();
            if (has_most) to[rows_.most - first] += right.sum();
        }
    }
}

// ---- RelativeTable ----------------------------------------------------------------------------

// Where positions follow each other as tokens do, a causal mask leaves no key of a position above the query's.
RelativeRows RelativeTable::rows_of_pairs(const Tile& tile) const {
    const auto as_tokens = [&] {
        return consecutive(tile.keys) && consecutive(tile.queries) && !tile.keys.empty() && !tile.queries.empty() &&
               std::int64_t{tile.queries[0]} - tile.keys[0] == std::int64_t{tile.first_query} - tile.first_key;
    };
    if (mask_ != Mask::causal || !as_tokens()) return range_;
    return {range_.least, std::min<std::int64_t>(range_.most, 0), true};
}

void RelativeTable::prepare() {
    if (turned_.rows() == 0) turned_ = TurnedRows(rows(), rows_.cols);
    turned_.set(rows_);
}

void RelativeTable::add_products(float alpha, View x, const Tile& tile, View to) const {
    const RelativeRows rows = rows_of_pairs(tile);
    for_query_tiles(rows, tile.queries, tile.keys, relative_tile, [&](int top, int count, const RelativePairs& pairs) {
        alignas(64) RelativeProducts products;
        pairs.for_spans(range_.least, [&](std::int64_t first, int span) {
            turned_.multiply(alpha, rows_of(x, top, count), index(first), span,
                             {products[0], count, span, relative_span});
            pairs.spread(products, first, span, rows_of(to, top, count));
        });
    });
}

void RelativeTable::add_rows(float alpha, View weights, const Tile& tile, View to) const {
    const RelativeRows rows = rows_of_pairs(tile);
    for_query_tiles(rows, tile.queries, tile.keys, relative_tile, [&](int top, int count, const RelativePairs& pairs) {
        alignas(64) RelativeProducts sums;
        pairs.for_spans(range_.least, [&](std::int64_t first, int span) {
            pairs.collect(rows_of(weights, top, count), first, span, sums);
            kernels().product(count, rows_.cols, span, alpha, sums[0], relative_span, 1, rows_.row(index(first)),
                              rows_.stride, 1, to.row(top), to.stride);
        });
    });
}

void RelativeTable::add_gradient(float alpha, View weights, View x, const Tile& tile, View grad) const {
    const RelativeRows rows = rows_of_pairs(tile);
    for_query_tiles(rows, tile.queries, tile.keys, relative_tile, [&](int top, int count, const RelativePairs& pairs) {
        alignas(64) RelativeProducts sums;
        pairs.for_spans(range_.least, [&](std::int64_t first, int span) {
            pairs.collect(rows_of(weights, top, count), first, span, sums);
            kernels().product(span, x.cols, count, alpha, sums[0], 1, relative_span, x.row(top), x.stride, 1,
                              grad.row(index(first)), grad.stride);
        });
    });
}

// ---- Vectors for keys -------------------------------------------------------------------------

namespace {

// The same by keys: some of them at once, all queries, and the rows that their pairs are of. One query meets one row
// of each key; several keys at once would compute products of the others'.
template <class Use>
void for_key_tiles(RelativeRows rows, Positions queries, Positions keys, const Use& use) {
    if (queries.empty()) return;
    const int n = static_cast<int>(keys.size()), n_queries = static_cast<int>(queries.size());
    for (int first = 0, count = 0; first < n; first += count) {
        const auto some = [&](int most) {
            count = std::min(most, n - first);
            return RelativePairs(rows, queries,
                                 keys.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
        };
        RelativePairs pairs = some(relative_tile);
        if (pairs.last_row() - pairs.first_row() >= 2 * n_queries) pairs = some(std::min(n_queries, relative_tile));
        use(first, count, pairs);
    }
}

// f(i, a, r): pair (query i, key top + a) is of row first + r.
template <class Use>
void for_pairs(RelativeRows rows, Positions queries, Positions keys, int top, int n_keys, std::int64_t first, int count,
               const Use& use) {
    for (int i = 0; i < static_cast<int>(queries.size()); ++i)
        for (int a = 0; a < n_keys; ++a) {
            const std::int64_t row =
                rows.row(queries[static_cast<std::size_t>(i)], keys[static_cast<std::size_t>(top + a)]) - first;
            if (row >= 0 && row < count) use(i, a, row);
        }
}

// sums[a][r] = the sum of the weights of key top + a over the queries of row first + r.
void collect_of_keys(RelativeRows rows, View weights, Positions queries, Positions keys, int top, int n_keys,
                     std::int64_t first, int count, RelativeProducts& sums) {
    for (int a = 0; a < n_keys; ++a) std::fill(sums[a], sums[a] + count, 0.0f);
    for_pairs(rows, queries, keys, top, n_keys, first, count,
              [&](int i, int a, std::int64_t r) { sums[a][r] += weights.row(i)[top + a]; });
}

} // namespace

void RelativeTable::add_products_of_keys(float alpha, View x, const Tile& tile, View to) const {
    if (tile.queries.size() == 1) return add_products_of_keys(alpha, x, tile.queries[0], tile.keys, to.row(0));
    const RelativeRows rows = rows_of_pairs(tile);
    for_key_tiles(rows, tile.queries, tile.keys, [&](int top, int n, const RelativePairs& pairs) {
        alignas(64) RelativeProducts products;
        pairs.for_spans(range_.least, [&](std::int64_t first, int span) {
            kernels().dots(n, span, x.cols, rows_.row(index(first)), rows_.stride, x.row(top), x.stride, products[0],
                           relative_span);
            for_pairs(rows, tile.queries, tile.keys, top, n, first, span,
                      [&](int i, int a, std::int64_t r) { to.row(i)[top + a] += alpha * products[a][r]; });
        });
    });
}

// Runs of keys that share a row, as those past the clamp do, meet it at once.
void RelativeTable::add_products_of_keys(float alpha, View x, int query, Positions keys, float* to) const {
    const auto row = [&](int j) { return range_.row(query, keys[static_cast<std::size_t>(j)]); };
    float products[relative_tile];
    for (int j = 0, run = 0; j < x.rows; j += run) {
        const std::int64_t mine = row(j);
        for (run = 1; run < relative_tile && j + run < x.rows && row(j + run) == mine;) ++run;
        kernels().dots(run, 1, x.cols, rows_.row(index(mine)), rows_.stride, x.row(j), x.stride, products, 1);
        for (int a = 0; a < run; ++a) to[j + a] += alpha * products[a];
    }
}

void RelativeTable::add_rows_of_keys(float alpha, View weights, const Tile& tile, View to) const {
    const RelativeRows rows = rows_of_pairs(tile);
    for_key_tiles(rows, tile.queries, tile.keys, [&](int top, int n, const RelativePairs& pairs) {
        alignas(64) RelativeProducts sums;
        pairs.for_spans(range_.least, [&](std::int64_t first, int span) {
            collect_of_keys(rows, weights, tile.queries, tile.keys, top, n, first, span, sums);
            kernels().product(n, rows_.cols, span, alpha, sums[0], relative_span, 1, rows_.row(index(first)),
                              rows_.stride, 1, to.row(top), to.stride);
        });
    });
}

void RelativeTable::add_gradient_of_keys(float alpha, View weights, View x, const Tile& tile, View grad) const {
    const RelativeRows rows = rows_of_pairs(tile);
    for_key_tiles(rows, tile.queries, tile.keys, [&](int top, int n, const RelativePairs& pairs) {
        alignas(64) RelativeProducts sums;
        pairs.for_spans(range_.least, [&](std::int64_t first, int span) {
            collect_of_keys(rows, weights, tile.queries, tile.keys, top, n, first, span, sums);
            kernels().product(span, x.cols, n, alpha, sums[0], 1, relative_span, x.row(top), x.stride, 1,
                              grad.row(index(first)), grad.stride);
        });
    });
}

// ---- Tables -----------------------------------------------------------------------------------

TableRows relative_table(const Encoding& encoding, std::span<const RelativeTable> tables, const Dims& dims,
                         const TableRequest& request) {
    check_table_layer(encoding, dims, request);
    const int heads = static_cast<int>(tables.size()) / dims.layer_count();
    check_table_head(encoding, dims.n_heads, request);
    const int at = dims.slot(request.layer) * heads + request.head % heads;
    const RelativeTable& table = tables[static_cast<std::size_t>(at)];
    const View rows = table.view();
    if (!rows.data)
        fail(ErrorCode::usage, name_of(encoding.spec()),
             ": the table is in the weights: expected a model file, found none");
    std::vector<std::string> header = {"distance"};
    for (int c = 0; c < rows.cols; ++c) header.push_back("dim" + std::to_string(c));
    return make_table(std::move(header), table.rows(), [=, least = table.least()](std::int64_t row, auto out) {
        out[0] = static_cast<double>(least + row);
        std::copy_n(rows.row(static_cast<int>(row)), rows.cols, out.begin() + 1);
    });
}

} // namespace ordo
