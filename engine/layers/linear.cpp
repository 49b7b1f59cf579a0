// SPDX-License-Identifier: MIT
#include "layers/linear.h"

#include "core/blas.h"
#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

// Each output is one dot product, whichever thread computes it: the same bits on any number of them.
void matvec(const float* x, View weight, float* y) {
    constexpr int block = 16;                  // outputs computed together
    constexpr int elements_per_thread = 32768; // below this a thread costs more than it saves
    const Kernels& k = kernels();
    const int blocks = (weight.rows + block - 1) / block;
    parallel_for(blocks, std::max(1, elements_per_thread / (block * std::max(1, weight.cols))), [&](std::ptrdiff_t b) {
        const int first = static_cast<int>(b) * block;
        const int rows = std::min(block, weight.rows - first);
        k.matvec(rows, weight.cols, weight.row(first), weight.stride, x, y + first);
    });
}

} // namespace

void linear(View x, const Linear& w, View y) {
    if (x.rows == 1)
        matvec(x.data, w.weight, y.data);
    else
        gemm(x, Transpose::no, w.weight, Transpose::yes, y);
    if (w.bias.data == nullptr) return;
    const Kernels& k = kernels();
    parallel_for(y.rows, std::max(1, 16384 / y.cols),
                 [&](std::ptrdiff_t i) { k.add(y.cols, w.bias.data, y.row(static_cast<int>(i))); });
}

} // namespace ordo
