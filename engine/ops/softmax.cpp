// SPDX-License-Identifier: MIT
#include "ops/softmax.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {

namespace {

// Softmax over the visible part.
ExpRow normalise(int n, int first, int last, float* row) {
    const Kernels& k = kernels();
    const int visible = last - first;
    std::fill(row, row + first, 0.0f);
    const ExpRow found = k.exp_row(visible, row + first);
    if (found.largest == -HUGE_VALF) // differences of infinities are NaN
        std::fill(row + first, row + last, 0.0f);
    else
        k.scale(visible, 1.0f / found.sum, row + first);
    std::fill(row + last, row + n, 0.0f);
    return found;
}

} // namespace

void softmax_row(int n, int first, int last, float* row) {
    normalise(n, first, last, row);
}

float softmax_part(int n, int first, int last, float* row) {
    const ExpRow found = normalise(n, first, last, row);
    return found.largest == -HUGE_VALF ? found.largest : found.largest + std::log(found.sum);
}

void soft_cap(float cap, View x) {
    constexpr int width = 1024; // of a strip of columns: one row of logits is enough work for several threads
    const int strips = (x.cols + width - 1) / width;
    parallel_for(std::ptrdiff_t{x.rows} * strips, 4, [&](std::ptrdiff_t i) {
        float* row = x.row(static_cast<int>(i / strips));
        const int first = static_cast<int>(i % strips) * width;
        for (int j = first; j < std::min(first + width, x.cols); ++j) row[j] = cap * std::tanh(row[j] / cap);
    });
}

} // namespace ordo
