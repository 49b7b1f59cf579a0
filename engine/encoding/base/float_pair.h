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
    parallel_for(count, std::max(1, 1024 / std::max(1, state.rows)), [&](std::ptrdiff_t c) {
        double sum = before ? pair_sum(before + 2 * c) : 0;
        for (int t = 0; t < state.rows; ++t) {
            float* pair = state.row(t) + 2 * c;
            split_pair(sum + pair_sum(pair), pair);
            sum = pair_sum(pair);
        }
    });
}

} // namespace ordo
