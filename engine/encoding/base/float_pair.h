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
// Adds up n columns of pairs from the column `first` on, whose sums stay in registers.
template <int n>
void add_up_columns(int first, const float* before, View state) {
    double sums[n] = {};
    for (int c = 0; before && c < n; ++c) sums[c] = pair_sum(before + 2 * (first + c));
    for (int t = 0; t < state.rows; ++t) {
        float* const pairs = state.row(t) + 2 * first;
        for (int c = 0; c < n; ++c) {
            split_pair(sums[c] + pair_sum(pairs + 2 * c), pairs + 2 * c);
            sums[c] = pair_sum(pairs + 2 * c);
        }
    }
}
// Adds up `count` pairs in the first columns of each row, which follow `before`. One call and many calls give a
// sequence the same bits.
inline void add_up(int count, const float* before, View state) {
    constexpr int at_once = 8; // a cache line
    const int whole = count / at_once;
    parallel_for(whole + count % at_once, std::max(1, 1024 / std::max(1, state.rows)), [&](std::ptrdiff_t task) {
        const int i = static_cast<int>(task);
        if (i < whole)
            add_up_columns<at_once>(i * at_once, before, state);
        else
            add_up_columns<1>(whole * at_once + i - whole, before, state);
    });
}

} // namespace ordo
