// SPDX-License-Identifier: MIT
#include "ops/activation.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

constexpr int elements_per_thread = 4096; // below this a thread costs more than it saves

int rows_per_thread(int cols) {
    return std::max(1, elements_per_thread / std::max(1, cols));
}

void relu(int n, const float* x, float* y) {
#pragma omp simd
    for (int j = 0; j < n; ++j) y[j] = x[j] < 0 ? 0.0f : x[j]; // NaN stays NaN
}

// Phi(x) = erfc(-x / sqrt 2) / 2: 1 + erf would cancel for x < 0.
void gelu(int n, const float* x, float* y) {
    for (int j = 0; j < n; ++j) y[j] = 0.5f * x[j] * std::erfc(x[j] * -0.70710678118654752f);
}

using RowFunction = void (*)(int, const float*, float*);

RowFunction row_function(Activation f) {
    switch (f) {
    case Activation::relu:
        return relu;
    case Activation::gelu:
        return gelu;
    case Activation::gelu_tanh:
        return kernels().gelu_tanh;
    case Activation::silu:
        return kernels().silu;
    }
    return nullptr;
}

} // namespace

void activate(Activation f, View x, View y) {
    const RowFunction function = row_function(f);
    parallel_for(x.rows, rows_per_thread(x.cols),
                 [&](std::ptrdiff_t i) { function(x.cols, x.row(static_cast<int>(i)), y.row(static_cast<int>(i))); });
}

void activate_gated(Activation f, View x, View y) {
    const RowFunction function = row_function(f);
    const int d = y.cols;
    parallel_for(x.rows, rows_per_thread(d), [&](std::ptrdiff_t i) {
        const float* in = x.row(static_cast<int>(i));
        float* out = y.row(static_cast<int>(i));
        function(d, in, out);
        const float* up = in + d;
#pragma omp simd
        for (int j = 0; j < d; ++j) out[j] *= up[j];
    });
}

} // namespace ordo
