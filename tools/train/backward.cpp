// SPDX-License-Identifier: MIT
#include "tools/train/backward.h"

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "ops/activation.h"

#include <algorithm>
#include <cmath>

namespace ordo::train {
namespace {

constexpr int block_rows = 256; // of the partial sums over rows

// out [1, cols] += the sum over rows of what add_row(row, partial) adds to a zeroed partial [cols].
template <class AddRow>
void sum_rows(int rows, View out, const AddRow& add_row) {
    const int blocks = (rows + block_rows - 1) / block_rows;
    Tensor partial(blocks, out.cols);
    parallel_for(blocks, 1, [&](std::ptrdiff_t b) {
        const int first = static_cast<int>(b) * block_rows;
        float* sum = partial.view().row(static_cast<int>(b));
        for (int i = first; i < std::min(rows, first + block_rows); ++i) add_row(i, sum);
    });
    for (int b = 0; b < blocks; ++b) kernels().add(out.cols, partial.view().row(b), out.data);
}

struct Moments {
    float mean, inverse; // of one row: (x - mean) * inverse is the normalised row
};

Moments moments(Norm norm, float eps, const float* x, int d) {
    double mean = 0, square = 0;
    if (norm == Norm::layer) {
        for (int j = 0; j < d; ++j) mean += x[j];
        mean /= d;
    }
    for (int j = 0; j < d; ++j) square += (x[j] - mean) * (x[j] - mean);
    return {static_cast<float>(mean), static_cast<float>(1 / std::sqrt(square / d + eps))};
}

} // namespace

void gemm_alone(View a, Transpose ta, View b, Transpose tb, View c, float beta) {
    const int k = ta == Transpose::no ? a.cols : a.rows;
    Tensor turned; // [k, n]: the kernel reads b's rows
    if (tb == Transpose::yes) {
        turned = Tensor(k, c.cols);
        for (int j = 0; j < c.cols; ++j)
            for (int l = 0; l < k; ++l) turned.data()[l * c.cols + j] = b.row(j)[l];
        b = turned.view();
    }
    const std::ptrdiff_t a_row = ta == Transpose::no ? a.stride : 1, a_col = ta == Transpose::no ? 1 : a.stride;
    kernels().product(c.rows, c.cols, k, 1, a.data, a_row, a_col, b.data, b.stride, beta, c.data, c.stride);
}

void linear(Gemm product, View x, View w, View bias, View y) {
    product(x, Transpose::no, w, Transpose::yes, y, 0);
    if (bias.data)
        parallel_for(y.rows, 64,
                     [&](std::ptrdiff_t i) { kernels().add(y.cols, bias.data, y.row(static_cast<int>(i))); });
}

void linear_backward(Gemm product, View dy, View x, View w, View dx, bool accumulate, View dw, View dbias) {
    if (dx.data) product(dy, Transpose::no, w, Transpose::no, dx, accumulate ? 1.0f : 0.0f);
    product(dy, Transpose::yes, x, Transpose::no, dw, 1.0f);
    if (dbias.data) sum_rows(dy.rows, dbias, [&](int i, float* sum) { kernels().add(dy.cols, dy.row(i), sum); });
}

// With h = (x - mean) * inverse and g = weight * dy:
//   dx = inverse * (g - [mean of g, LayerNorm only] - h * mean(g * h)), dweight = sum dy * h, dbias = sum dy.
void norm_backward(Norm norm, float eps, View x, View weight, View dy, View dx, bool accumulate, View dweight,
                   View dbias) {
    const int d = x.cols;
    Tensor partial_moments(x.rows, 2);
    parallel_for(x.rows, 64, [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        const Moments m = moments(norm, eps, x.row(i), d);
        partial_moments.view().row(i)[0] = m.mean;
        partial_moments.view().row(i)[1] = m.inverse;
        const float *xi = x.row(i), *g = dy.row(i), *w = weight.data;
        float* out = dx.row(i);
        float mean_g = 0, mean_gh = 0;
        for (int j = 0; j < d; ++j) {
            mean_g += w[j] * g[j];
            mean_gh += w[j] * g[j] * (xi[j] - m.mean) * m.inverse;
        }
        mean_g = norm == Norm::layer ? mean_g / static_cast<float>(d) : 0;
        mean_gh /= static_cast<float>(d);
        for (int j = 0; j < d; ++j) {
            const float grad = m.inverse * (w[j] * g[j] - mean_g - (xi[j] - m.mean) * m.inverse * mean_gh);
            out[j] = accumulate ? out[j] + grad : grad;
        }
    });
    sum_rows(x.rows, dweight, [&](int i, float* sum) {
        const float mean = partial_moments.view().row(i)[0], inverse = partial_moments.view().row(i)[1];
        const float *xi = x.row(i), *g = dy.row(i);
        for (int j = 0; j < d; ++j) sum[j] += g[j] * (xi[j] - mean) * inverse;
    });
    if (dbias.data) sum_rows(dy.rows, dbias, [&](int i, float* sum) { kernels().add(d, dy.row(i), sum); });
}

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

double cross_entropy(Gemm product, View h, View head, std::span<const Token> targets, View dh, View dhead,
                     View logits) {
    const auto scored = std::count_if(targets.begin(), targets.end(), [](Token t) { return t >= 0; });
    if (scored == 0) return 0;
    const int vocab = head.rows;
    const float share = 1.0f / static_cast<float>(scored);
    Buffer<double> loss(targets.size()); // of each row, so that the sum has one order
    for (int first = 0; first < h.rows; first += logits.rows) {
        const int rows = std::min(logits.rows, h.rows - first);
        const View part = rows_of(h, first, rows), scores = rows_of(logits, 0, rows);
        product(part, Transpose::no, head, Transpose::yes, scores, 0);
        parallel_for(rows, 1, [&](std::ptrdiff_t row) {
            float* x = scores.row(static_cast<int>(row));
            const auto i = static_cast<std::size_t>(first + row);
            const Token target = targets[i];
            const float top = kernels().max_row(vocab, x);
            const float right = target >= 0 ? x[target] : 0;
            const float sum = kernels().exp_row(vocab, x);
            if (target >= 0) loss[i] = std::log(static_cast<double>(sum)) + top - right;
            if (!dh.data) return;
            kernels().scale(vocab, target >= 0 ? share / sum : 0, x); // d/dlogits = (softmax - one-hot) / scored
            if (target >= 0) x[target] -= share;
        });
        if (!dh.data) continue;
        product(scores, Transpose::no, head, Transpose::no, rows_of(dh, first, rows), 0);
        product(scores, Transpose::yes, part, Transpose::no, dhead, 1.0f);
    }
    double total = 0;
    for (const double l : loss) total += l;
    return total / static_cast<double>(scored);
}

} // namespace ordo::train
