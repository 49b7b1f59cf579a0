// SPDX-License-Identifier: MIT
#include "encoding/base/distance_table.h"

#include "core/parallel.h"
#include "encoding/base/consecutive.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cassert>

namespace ordo {
namespace {

constexpr std::int64_t most_floats = std::int64_t{1} << 24; // 64 MiB; the rest is computed as needed
// A causal mask hides the keys ahead. A tile on its edge still holds such keys, and adds their bias before it hides
// them. These distances should be cheap, as far ahead as a tile is likely to reach.
constexpr std::int64_t least_ahead = 512;

} // namespace

void DistanceTable::prepare(int n_positions) {
    back_ = std::max<std::int64_t>(back_, n_positions);
    const std::int64_t fit = most_floats / std::max(rows_, 1);
    back_ = std::min(back_, ahead_all_ ? (fit + 1) / 2 : std::max(fit - least_ahead, fit / 2));
    if (back_ <= 0) return;
    const std::int64_t ahead = ahead_all_ ? back_ - 1 : std::min(back_ - 1, least_ahead);
    width_ = back_ + ahead;
    const auto size = static_cast<std::size_t>(rows_ * width_);
    if (table_.size() != size) table_ = Buffer<float>(size);
    parallel_for(static_cast<std::ptrdiff_t>(size), 1024,
                 [&](std::ptrdiff_t i) { table_[i] = bias_(static_cast<int>(i / width_), back_ - 1 - i % width_); });
}

// In decoding, a thread reads the row of its next head next. That is the next row, or the row after it if a second
// thread runs; with more threads it is a guess. The row would otherwise come from memory, as the layer's weights have
// been read since. A few cache lines are enough: after them the hardware prefetcher takes over. (GCC drops calls of
// functions that do nothing but prefetch, unless they are inlined.)
[[gnu::always_inline]] inline void DistanceTable::fetch_next(int row, std::int64_t at, std::int64_t n) const {
    constexpr std::int64_t line = 64 / sizeof(float);
    const int one = row + 1 < rows_ ? row + 1 : 0, two = one + 1 < rows_ ? one + 1 : 0;
    const float* const next = row_of(one) + at;
    const float* const after = row_of(detail::member.threads > 1 ? two : one) + at;
    const std::int64_t end = std::min(n, 8 * line);
    for (std::int64_t i = 0; i < end; i += line) {
        __builtin_prefetch(next + i);
        __builtin_prefetch(after + i);
    }
}

void DistanceTable::add(View scores, int row, const Tile& tile, bool consecutive_keys) const {
    assert(row >= 0 && row < rows_);
    if (!consecutive_keys || tile.keys.empty()) {
        for (int i = 0; i < scores.rows; ++i) add_one_by_one(scores.row(i), row, tile, i, 0, scores.cols);
        return;
    }
    for (int i = 0; i < scores.rows; ++i) {
        float* const to = scores.row(i);
        const std::int64_t n = scores.cols;
        const std::int64_t at = index(std::int64_t{tile.queries[i]} - tile.keys[0]);
        if (at >= 0 && at + n <= width_) {
            kernels().add(scores.cols, row_of(row) + at, to);
            if (scores.rows == 1) fetch_next(row, at, n);
            continue;
        }
        const std::int64_t first = std::clamp<std::int64_t>(-at, 0, n); // the keys within the table: [first, last)
        const std::int64_t last = std::clamp<std::int64_t>(width_ - at, first, n);
        add_one_by_one(to, row, tile, i, 0, first);
        if (last > first) kernels().add(static_cast<int>(last - first), row_of(row) + at + first, to + first);
        add_one_by_one(to, row, tile, i, last, n);
    }
}

void DistanceTable::add_one_by_one(float* scores, int row, const Tile& tile, int query, std::int64_t first,
                                   std::int64_t last) const {
    const std::int64_t at = tile.queries[query];
    for (std::int64_t j = first; j < last; ++j) scores[j] += value(row, at - tile.keys[j]);
}

void sum_by_distance(View d_scores, const Tile& tile,
                     const std::function<void(std::int64_t distance, float sum)>& visit) {
    const int n_queries = d_scores.rows, n_keys = d_scores.cols;
    if (n_queries == 0 || n_keys == 0) return;
    std::int64_t least = tile.queries[0], most = least;
    for (int i = 1; i < n_queries; ++i) {
        least = std::min<std::int64_t>(least, tile.queries[i]);
        most = std::max<std::int64_t>(most, tile.queries[i]);
    }
    const std::int64_t width = most - least + n_keys;
    if (!consecutive(tile.keys) || width > 4 * (std::int64_t{n_queries} + n_keys)) { // gaps: one at a time
        for (int i = 0; i < n_queries; ++i)
            for (int j = 0; j < n_keys; ++j)
                if (const float g = d_scores.row(i)[j]; g != 0) visit(std::int64_t{tile.queries[i]} - tile.keys[j], g);
        return;
    }
    const std::int64_t furthest = most - tile.keys[0];
    std::vector<float> sums(static_cast<std::size_t>(width)); // of distance furthest, furthest - 1 ...
    for (int i = 0; i < n_queries; ++i) kernels().add(n_keys, d_scores.row(i), sums.data() + (most - tile.queries[i]));
    for (std::int64_t i = 0; i < width; ++i)
        if (const float sum = sums[i]; sum != 0) visit(furthest - i, sum);
}

} // namespace ordo
