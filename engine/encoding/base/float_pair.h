// SPDX-License-Identifier: MIT
// Running sums in the state of tokens, which need more bits than a float has: two floats whose sum has all bits of a
// double but the last 5.
#pragma once

namespace ordo {

inline double pair_sum(const float* pair) {
    return static_cast<double>(pair[0]) + static_cast<double>(pair[1]);
}
inline void split_pair(double value, float* pair) {
    pair[0] = static_cast<float>(value);
    pair[1] = static_cast<float>(value - static_cast<double>(pair[0]));
}

} // namespace ordo
