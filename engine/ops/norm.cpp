// SPDX-License-Identifier: MIT
#include "ops/norm.h"

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "ops/sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ordo {
namespace {

constexpr int numbers_per_thread = 8192; // below this a thread costs more than it saves

int norms_per_thread(int cols) {
    return std::max(1, numbers_per_thread / std::max(1, cols));
}

// If the squares overflow, an inverse of 0 would silently turn the row to zeros. Returns NaN instead, which a session
// reports with the name of the layer.
float inverse_root(float square) {
    return square <= std::numeric_limits<float>::max() ? 1.0f / std::sqrt(square)
                                                       : std::numeric_limits<float>::quiet_NaN();
}

} // namespace

void rms_norm(View x, View weight, float eps, View y) {
    const Kernels& k = kernels();
    const int d = x.cols;
    parallel_for(x.rows, norms_per_thread(d), [&](std::ptrdiff_t i) {
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
    parallel_for(x.rows, norms_per_thread(d), [&](std::ptrdiff_t i) {
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
        if (b == nullptr) {
#pragma omp simd
            for (int j = 0; j < d; ++j) out[j] = (in[j] - mean) * factor * w[j];
            return;
        }
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

// ---- Backward -------------------------------------------------------------------------------

namespace {

struct RowScale {
    float mean, inverse; // of one row: (x - mean) * inverse is the normalised row
};

RowScale scale_of(Norm kind, float eps, const float* x, int d) {
    double mean = 0, square = 0;
    if (kind == Norm::layer) {
#pragma omp simd reduction(+ : mean)
        for (int j = 0; j < d; ++j) mean += static_cast<double>(x[j]);
        mean /= d;
    }
#pragma omp simd reduction(+ : square)
    for (int j = 0; j < d; ++j) square += (x[j] - mean) * (x[j] - mean);
    return {static_cast<float>(mean), static_cast<float>(1 / std::sqrt(square / d + eps))};
}

} // namespace

// With h = (x - mean) * inverse and g = weight * dy:
//   dx = inverse * (g - [mean of g, LayerNorm only] - h * mean(g * h)), d_weight = sum dy * h, d_bias = sum dy.
void norm_backward(Norm kind, View x, View weight, float eps, View dy, View dx, bool accumulate, View d_weight,
                   View d_bias) {
    const int d = x.cols;
    Tensor of_rows(x.rows, 2);
    parallel_for(x.rows, 64, [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        const RowScale m = scale_of(kind, eps, x.row(i), d);
        of_rows.view().row(i)[0] = m.mean;
        of_rows.view().row(i)[1] = m.inverse;
    });
    sum_rows(x.rows, d_weight, [&](int i, float* sum) { // before dx, which may replace dy
        const float mean = of_rows.view().row(i)[0], inverse = of_rows.view().row(i)[1];
        const float *xi = x.row(i), *g = dy.row(i);
        for (int j = 0; j < d; ++j) sum[j] += g[j] * (xi[j] - mean) * inverse;
    });
    if (d_bias.data) sum_rows(dy.rows, d_bias, [&](int i, float* sum) { kernels().add(d, dy.row(i), sum); });
    parallel_for(x.rows, 64, [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        const RowScale m{of_rows.view().row(i)[0], of_rows.view().row(i)[1]};
        const float *xi = x.row(i), *g = dy.row(i), *w = weight.data;
        float* out = dx.row(i);
        float mean_g = 0, mean_gh = 0;
#pragma omp simd reduction(+ : mean_g, mean_gh)
        for (int j = 0; j < d; ++j) {
            mean_g += w[j] * g[j];
            mean_gh += w[j] * g[j] * (xi[j] - m.mean) * m.inverse;
        }
        mean_g = kind == Norm::layer ? mean_g / static_cast<float>(d) : 0;
        mean_gh /= static_cast<float>(d);
#pragma omp simd
        for (int j = 0; j < d; ++j) {
            const float grad = m.inverse * (w[j] * g[j] - mean_g - (xi[j] - m.mean) * m.inverse * mean_gh);
            out[j] = accumulate ? out[j] + grad : grad;
        }
    });
}

} // namespace ordo
