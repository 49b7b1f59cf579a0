// SPDX-License-Identifier: MIT
// The arithmetic of TDPBF16PS from Intel's manual, one output at a time, with the C library's fused multiply-add.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace ordo::test {

inline float daz(float x) { // denormals are zero as operands and as results
    return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x;
}

inline float widened(std::uint16_t bf16) {
    return daz(std::bit_cast<float>(std::uint32_t{bf16} << 16));
}

// c plus the products of n pairs: a(k, i) times b(k, i), i = 0 and 1.
template <class A, class B>
float pair_dot(float c, int n, const A& a, const B& b) {
    float even = 0, odd = 0;
    for (int k = 0; k < n; ++k) {
        even = daz(std::fma(widened(a(k, 0)), widened(b(k, 0)), even));
        odd = daz(std::fma(widened(a(k, 1)), widened(b(k, 1)), odd));
    }
    return daz(daz(c) + daz(even + odd));
}

} // namespace ordo::test
