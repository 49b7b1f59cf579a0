// SPDX-License-Identifier: MIT
#include "ops/norm.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ordo {
namespace {

constexpr int elements_per_thread = 8192; // below this a thread costs more than it saves

int rows_per_thread(int cols) {
    return std::max(1, elements_per_thread / std::max(1, cols));
}

// Squares that overflow must not pass for a root whose inverse is 0, which would turn the row to zeros
// unseen: they give NaN, which a session reports by the name of the layer.
float inverse_root(float square) {
    return square <= std::numeric_limits<float>::max() ? 1.0f / std::sqrt(square)
                                                       : std::numeric_limits<float>::quiet_NaN();
}

} // namespace

void rms_norm(View x, View weight, float eps, View y) {
    const Kernels& k = kernels();
    const int d = x.cols;
    parallel_for(x.rows, rows_per_thread(d), [&](std::ptrdiff_t i) {
        const float* in = x.row(static_cast<int>(i));
        float* out = y.row(static_cast<int>(i));
        const float* w = weight.data;
        const float factor = inverse_root(k.dot(d, in, in) / static_cast<float>(d) + eps);
#pragma omp simd
        for (int j = 0; j < d; ++j) out[j] = in[j] * factor * w[j];
    });
}

// Two passes: the mean of squares minus the square of the mean would cancel.
void layer_norm(View x, View weight, View bias, float eps, View y) {
    const int d = x.cols;
    parallel_for(x.rows, rows_per_thread(d), [&](std::ptrdiff_t i) {
        const float* in = x.row(static_cast<int>(i));
        float* out = y.row(static_cast<int>(i));
        const float *w = weight.data, *b = bias.data;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < d; ++j) sum += in[j];
        const float mean = sum / static_cast<float>(d);
        float squares = 0;
#pragma omp simd reduction(+ : squares)
        for (int j = 0; j < d; ++j) squares += (in[j] - mean) * (in[j] - mean);
        const float factor = inverse_root(squares / static_cast<float>(d) + eps);
#pragma omp simd
        for (int j = 0; j < d; ++j) out[j] = (in[j] - mean) * factor * w[j] + b[j];
    });
}

void norm(Norm kind, View x, View weight, View bias, float eps, View y) {
    if (kind == Norm::rms)
        rms_norm(x, weight, eps, y);
    else
        layer_norm(x, weight, bias, eps, y);
}

} // namespace ordo
