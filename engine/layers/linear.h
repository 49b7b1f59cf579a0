// SPDX-License-Identifier: MIT
#pragma once

#include "core/tensor.h"
#include "layers/matrix.h"
#include "ops/pair_products.h"

#include <optional>

namespace ordo {

struct Linear {
    Matrix weight; // [m, k]
    View bias;     // [1, m], or no data
};

// Room for the rows of a product whose weights want them in another form than floats.
class RowScratch {
public:
    RowScratch() = default;
    RowScratch(int rows, int cols); // up to so many

    // x [n, k], k a multiple of 32, in blocks of 32 with one scale each.
    QuantRows quantise(View x);
    // x [n, k] as bf16, where the kernels can; rows lie pair_stride(k) apart.
    const std::uint16_t* round_to_bf16(View x);
    static std::ptrdiff_t pair_stride(int k) { return (std::ptrdiff_t{k} + 1) / 2 * 2; }

    // Products of many rows with f32, in training: as gemm(), or after use_pairs() by pairs of bf16. Throws
    // Error(usage) where the kernels have none.
    void use_pairs();
    bool uses_pairs() const { return pairs_.has_value(); }
    void product(View a, Transpose ta, View b, Transpose tb, View c, float beta = 0);

private:
    Buffer<std::byte> memory_; // of one form at a time
    std::optional<PairProducts> pairs_;
};

// How rows meet bf16: rounded to it where the kernels multiply pairs, or always as floats.
enum class Bf16Rows { rounded, floats };

// y [n, m] = x [n, k] * weight^T + bias. A row of y has the same bits whatever other rows x has, but for weights of 32
// rows or more that are not packed: those are trained, and left to scratch.product(). scratch: for n rows of k, if the
// weights are quantised or bf16.
void linear(View x, const Linear& w, RowScratch& scratch, View y, Bf16Rows rows = Bf16Rows::rounded);

struct LinearGradient {
    View weight, bias; // of the shapes of a Linear's; no data: none
};

// y = linear(x, w) with weights in f32: dx = dy W, or that is added to it; what w's gradient has is added to.
void linear_backward(View dy, View x, const Linear& w, RowScratch& scratch, View dx, bool accumulate,
                     const LinearGradient& d);

} // namespace ordo
