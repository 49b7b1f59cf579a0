// SPDX-License-Identifier: MIT
#include "ops/activation.h"

#include "core/parallel.h"
#include "core/tensor.h"
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

void relu2(int n, const float* x, float* y) {
#pragma omp simd
    for (int j = 0; j < n; ++j) y[j] = x[j] < 0 ? 0.0f : x[j] * x[j]; // likewise
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
    case Activation::relu2:
        return relu2;
    }
    return nullptr;
}

} // namespace

void activate(Activation f, View x, View y) {
    const RowFunction function = row_function(f);
    parallel_for(x.rows, rows_per_thread(x.cols),
                 [&](std::ptrdiff_t i) { function(x.cols, x.row(static_cast<int>(i)), y.row(static_cast<int>(i))); });
}

void activate_gated(Activation f, View gate, View up, View y) {
    const RowFunction function = row_function(f);
    const int d = y.cols;
    parallel_for(y.rows, rows_per_thread(d), [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        float* const out = y.row(i);
        function(d, gate.row(i), out);
        const float* const factors = up.row(i);
#pragma omp simd
        for (int j = 0; j < d; ++j) out[j] *= factors[j];
    });
}

void activate_gated(Activation f, View x, View y) {
    activate_gated(f, cols_of(x, 0, y.cols), cols_of(x, y.cols, y.cols), y);
}

// ---- Backward -------------------------------------------------------------------------------

namespace {

// dx *= activation'(x)
void multiply_by_slope(Activation activation, int n, const float* x, float* dx) {
    switch (activation) {
    case Activation::relu:
        for (int j = 0; j < n; ++j) dx[j] = x[j] > 0 ? dx[j] : 0;
        break;
    case Activation::gelu: // Phi(x) + x phi(x)
        for (int j = 0; j < n; ++j)
            dx[j] *= 0.5f * (1 + std::erf(x[j] * 0.70710678f)) + x[j] * 0.39894228f * std::exp(-0.5f * x[j] * x[j]);
        break;
    case Activation::gelu_tanh:
        kernels().gelu_tanh_grad(n, x, dx);
        break;
    case Activation::silu:
        kernels().silu_grad(n, x, dx);
        break;
    case Activation::relu2:
        for (int j = 0; j < n; ++j) dx[j] *= 2 * std::max(x[j], 0.0f);
        break;
    }
}

} // namespace

// y = f(gate) * up: d_up = dy * f(gate), d_gate = dy * up * f'(gate).
void activation_backward(Activation activation, bool gated, View in, View dy, View d_in) {
    const int d_ff = dy.cols;
    parallel_for(in.rows, 16, [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        const float *gate = in.row(i), *g = dy.row(i);
        float* d_gate = d_in.row(i);
        if (!gated) {
            std::copy_n(g, d_ff, d_gate);
        } else {
            const float* up = gate + d_ff;
            float* d_up = d_gate + d_ff;
            activate(activation, view(in.row(i), 1, d_ff), view(d_up, 1, d_ff));
            for (int j = 0; j < d_ff; ++j) d_up[j] *= g[j];
            for (int j = 0; j < d_ff; ++j) d_gate[j] = g[j] * up[j];
        }
        multiply_by_slope(activation, d_ff, gate, d_gate);
    });
}

} // namespace ordo
