// SPDX-License-Identifier: MIT
#pragma once

#include "core/tensor.h"
#include "layers/matrix.h"

namespace ordo {

struct Linear {
    Matrix weight; // [m, k]
    View bias;     // [1, m], or no data
};

// Room for the rows of a product with quantised weights, which are quantised themselves.
class QuantScratch {
public:
    QuantScratch() = default;
    QuantScratch(int rows, int cols);
    static std::uint64_t bytes(int rows, int cols);

    // x [n, k], k a multiple of 32, in blocks of 32 with one scale each.
    QuantRows quantise(View x);

private:
    Buffer<signed char> values_;
    Buffer<float> scales_;
    Buffer<int> sums_;
};

// Up to so many rows, products with f32 weights run on our own kernels, which read the weights once and
// in place; more are left to BLAS, which must not be called from within a team.
inline constexpr int most_rows_without_blas = 8;

// y [n, m] = x [n, k] * weight^T + bias. scratch: for n rows of k, if the weights are quantised.
void linear(View x, const Linear& w, QuantScratch& scratch, View y);

} // namespace ordo
