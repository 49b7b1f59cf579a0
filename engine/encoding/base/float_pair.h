// SPDX-License-Identifier: MIT
// Running sums in the state of tokens, which need more bits than a float has: two floats whose sum has all bits of a
// double but the last 5.
#pragma once

#include "core/parallel.h"
#include "rows.h"

#include <algorithm>

namespace ordo {

inline double pair_sum(const float* pair) {
    return static_cast<double>(pair[0]) + static_cast<double>(pair[1]);
}
inline void split_pair(double value, float* pair) {
    pair[0] = static_cast<float>(value);
    pair[1] = static_cast<float>(value - static_cast<double>(pair[0]));
}
// Adds up `count` pairs in the first columns of each row, which follow `before`. One call and many calls give a
// sequence the same bits.
inline void add_up(int count, const float* before, View state) {
    constexpr int at_once = 16; // a cache line holds 8 pairs
    const int blocks = (count + at_once - 1) / at_once;
    parallel_for(blocks, std::max(1, 1024 / (at_once * std::max(1, state.rows))), [&](std::ptrdiff_t block) {
        const int first = static_cast<int>(block) * at_once, n = std::min(at_once, count - first);
        double sums[at_once] = {};
        for (int c = 0; before && c < n; ++c) sums[c] = pair_sum(before + 2 * (first + c));
        for (int t = 0; t < state.rows; ++t) {
            float* const pairs = state.row(t) + 2 * first;
            for (int c = 0; c < n; ++c) {
                split_pair(sums[c] + pair_sum(pairs + 2 * c), pairs + 2 * c);
                sums[c] = pair_sum(pairs + 2 * c);
            }
        }
    });
}

} // namespace ordo
