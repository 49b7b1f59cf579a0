// SPDX-License-Identifier: MIT
#include "encoding/base/relative.h"

#include "kernels/kernels.h"

#include <algorithm>
#include <cassert>

namespace ordo {
namespace {

// Adds weights one by one, in the order of Kernels::sum.
class WeightSum {
public:
    void add(float weight) { part_[n_++ % partial_sums] += weight; }
    float sum() {
        for (int half = partial_sums / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) part_[i] += part_[i + half];
        return part_[0];
    }

private:
    unsigned n_ = 0;
    float part_[partial_sums] = {};
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

RelativeCut cut_of(RelativeRows rows, int query, int first_key, int n_keys) {
    const std::int64_t base = std::int64_t{first_key} - query, n = n_keys;
    const std::int64_t left = std::clamp<std::int64_t>(rows.least - base + 1, 0, n);
    const std::int64_t last = std::clamp<std::int64_t>(rows.most - base + rows.hides_later, left, n);
    return {static_cast<int>(left), static_cast<int>(last), static_cast<int>(rows.hides_later ? last : n), base};
}

// out[j] += products[row of key j - first], for keys whose row is in [first, end).
void spread_in_order(RelativeRows rows, const RelativeCut& cut, const float* products, std::int64_t first,
                     std::int64_t end, float* out) {
    const Kernels& k = kernels();
    if (cut.left > 0 && rows.least >= first && rows.least < end)
        k.add_value(cut.left, products[rows.least - first], out);
    const std::int64_t begin = std::max<std::int64_t>(cut.left, first - cut.base),
                       stop = std::min<std::int64_t>(cut.right, end - cut.base);
    if (begin < stop) k.add(static_cast<int>(stop - begin), products + (cut.base + begin - first), out + begin);
    if (cut.right < cut.end && rows.most >= first && rows.most < end)
        k.add_value(cut.end - cut.right, products[rows.most - first], out + cut.right);
}

// sums[r - first] = the sum of weights[j] over the keys of row r, for rows [first, end).
void collect_in_order(RelativeRows rows, const RelativeCut& cut, const float* weights, std::int64_t first,
                      std::int64_t end, float* sums) {
    std::fill(sums, sums + (end - first), 0.0f);
    const std::int64_t begin = std::max<std::int64_t>(cut.left, first - cut.base),
                       stop = std::min<std::int64_t>(cut.right, end - cut.base);
    if (begin < stop) std::copy(weights + begin, weights + stop, sums + (cut.base + begin - first));
    if (cut.left > 0 && rows.least >= first && rows.least < end)
        sums[rows.least - first] += kernels().sum(cut.left, weights);
    if (cut.right < cut.end && rows.most >= first && rows.most < end)
        sums[rows.most - first] += kernels().sum(cut.end - cut.right, weights + cut.right);
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

void RelativePairs::spread(const RelativeProducts& products, std::int64_t first, int count, View to) const {
    const int n = static_cast<int>(keys_.size());
    const std::int64_t end = first + count;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
        const float* from = products[i];
        float* out = to.row(static_cast<int>(i));
        if (in_order_) {
            spread_in_order(rows_, cut_of(rows_, queries_[i], keys_[0], n), from, first, end, out);
            continue;
        }
        for (int j = 0; j < n; ++j) {
            const std::int64_t row = rows_.row(queries_[i], keys_[j]);
            if (row >= first && row < end) out[j] += from[row - first];
        }
    }
}

void RelativePairs::collect(View weights, std::int64_t first, int count, RelativeProducts& products) const {
    const int n = static_cast<int>(keys_.size());
    const std::int64_t end = first + count;
    for (std::size_t i = 0; i < queries_.size(); ++i) {
        const float* from = weights.row(static_cast<int>(i));
        float* to = products[i];
        if (in_order_) {
            collect_in_order(rows_, cut_of(rows_, queries_[i], keys_[0], n), from, first, end, to);
            continue;
        }
        std::fill(to, to + count, 0.0f);
        WeightSum left, right;
        for (int j = 0; j < n; ++j) {
            const std::int64_t row = rows_.row(queries_[i], keys_[j]);
            if (row == rows_.least)
                left.add(from[j]);
            else if (row == rows_.most)
                right.add(from[j]);
            else if (row >= first && row < end)
                to[row - first] += from[j];
        }
        if (rows_.least >= first && rows_.least < end) to[rows_.least - first] += left.sum();
        if (rows_.most >= first && rows_.most < end) to[rows_.most - first] += right.sum();
    }
}

// ---- RelativeTable ----------------------------------------------------------------------------

// Where the positions of queries and keys are consecutive, a causal mask hides every key of a position above the
// query's.
RelativeRows RelativeTable::rows_of_pairs(const Tile& tile) const {
    const auto as_tokens = [&] {
        return consecutive(tile.keys) && consecutive(tile.queries) && !tile.keys.empty() && !tile.queries.empty() &&
               std::int64_t{tile.queries[0]} - tile.keys[0] == std::int64_t{tile.first_query} - tile.first_key;
    };
    if (mask_ != Mask::causal || !as_tokens()) return range_;
    return {range_.least, std::min<std::int64_t>(range_.most, 0), true};
}

bool RelativeTable::covers(const Tile& tile) const {
    const RelativePairs all({}, tile.queries, tile.keys);
    return all.first_row() >= range_.least && (all.last_row() <= range_.most || rows_of_pairs(tile).hides_later);
}

std::optional<RelativeTable::OneQuery> RelativeTable::one_query(RelativeRows rows, const Tile& tile) const {
    if (tile.queries.size() != 1 || tile.keys.empty() || !consecutive(tile.keys)) return std::nullopt;
    const int n = static_cast<int>(tile.keys.size()), query = tile.queries[0];
    const RelativeCut cut = cut_of(rows, query, tile.keys[0], n);
    const std::int64_t first = RelativePairs::down(rows.row(query, tile.keys[0]), relative_vector, range_.least),
                       last = std::clamp(cut.base + n - 1, rows.least, rows.most);
    if (last >= RelativePairs::down(first, relative_span, range_.least) + relative_span) return std::nullopt;
    return OneQuery{cut, first, static_cast<int>(last - first) + 1};
}

void RelativeTable::prepare() {
    if (turned_.rows() == 0) turned_ = TurnedRows(rows(), rows_.cols);
    turned_.set(rows_);
}

void RelativeTable::add_products(float alpha, View x, const Tile& tile, View to) const {
    const RelativeRows rows = rows_of_pairs(tile);
    if (const auto one = one_query(rows, tile)) {
        alignas(64) float products[relative_span];
        turned_.multiply(alpha, x, index(one->first), one->count, {products, 1, one->count, relative_span});
        return spread_in_order(rows, one->cut, products, one->first, one->first + one->count, to.row(0));
    }
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
    if (const auto one = one_query(rows, tile)) {
        // The rows have left the cache, as the values of all keys have been read since the last head.
        for (int r = 0; r < one->count; ++r)
            for (int c = 0; c < rows_.cols; c += 16) __builtin_prefetch(rows_.row(index(one->first) + r) + c);
        alignas(64) float sums[relative_span];
        collect_in_order(rows, one->cut, weights.row(0), one->first, one->first + one->count, sums);
        return kernels().product(1, rows_.cols, one->count, alpha, sums, relative_span, 1, rows_.row(index(one->first)),
                                 rows_.stride, 1, to.row(0), to.stride);
    }
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

// The same by keys: a few keys at once, all queries, and the rows of their pairs. Keys compute products with each
// other's rows too, so take a third as many as there are queries, or 8, unless they share rows, as keys past the clamp
// do.
template <class Use>
void for_key_tiles(RelativeRows rows, Positions queries, Positions keys, const Use& use) {
    if (queries.empty()) return;
    const int n = static_cast<int>(keys.size()), n_queries = static_cast<int>(queries.size());
    for (int first = 0, count = 0; first < n; first += count) {
        const auto some = [&](int most) {
            count = std::min(most, n - first);
            return RelativePairs(rows, queries, keys.subspan(first, count));
        };
        RelativePairs pairs = some(relative_tile);
        if (pairs.last_row() - pairs.first_row() >= n_queries)
            pairs = some(std::clamp(n_queries / 3, std::min(n_queries, 8), relative_tile));
        use(first, count, pairs);
    }
}

// f(i, a, r): pair (query i, key top + a) has row first + r.
template <class Use>
void for_pairs(RelativeRows rows, Positions queries, Positions keys, int top, int n_keys, std::int64_t first, int count,
               const Use& use) {
    const bool in_order = consecutive(keys.subspan(top, n_keys));
    for (int i = 0; i < static_cast<int>(queries.size()); ++i) {
        const auto use_if_here = [&](int begin, int end, std::int64_t row) {
            if (row >= 0 && row < count)
                for (int a = begin; a < end; ++a) use(i, a, row);
        };
        if (!in_order) {
            for (int a = 0; a < n_keys; ++a) use_if_here(a, a + 1, rows.row(queries[i], keys[top + a]) - first);
            continue;
        }
        const RelativeCut cut = cut_of(rows, queries[i], keys[top], n_keys);
        const std::int64_t from = cut.base - first;
        use_if_here(0, cut.left, rows.least - first);
        use_if_here(cut.right, cut.end, rows.most - first);
        const auto within = [&](std::int64_t a) { // -from may be more than an int holds
            return static_cast<int>(std::clamp<std::int64_t>(a, cut.left, cut.right));
        };
        const int begin = within(-from), end = within(count - from);
        for (int a = begin; a < end; ++a) use(i, a, from + a);
    }
}

// sums[a][r] = the sum of the weights of key top + a over the queries with row first + r.
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

// A run of keys that share a row, as keys past the clamp do, is multiplied with it at once.
void RelativeTable::add_products_of_keys(float alpha, View x, int query, Positions keys, float* to) const {
    const auto row = [&](int j) { return range_.row(query, keys[j]); };
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

} // namespace ordo
