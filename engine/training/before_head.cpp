// SPDX-License-Identifier: MIT
#include "training/before_head.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

void multiply(View from, float scale, View to) {
    parallel_for(to.rows, 64, [&](std::ptrdiff_t i) {
        const auto row = static_cast<int>(i);
        if (from.data != to.data) std::copy_n(from.row(row), from.cols, to.row(row));
        kernels().scale(to.cols, scale, to.row(row));
    });
}

} // namespace

BeforeHead::BeforeHead(const Blueprint& b, const Weights& weights, Parameters& parameters, int rows)
    : blueprint_(b), weights_(weights) {
    narrow_ = Tensor(rows, b.embedding_width);
    d_narrow_ = Tensor(rows, b.embedding_width);
    d_projection_.weight = parameters.grad("head_projection.weight");
    if (b.head_transform || b.head_scale != 1) out_ = Tensor(rows, b.d_model);
    if (!b.head_transform) return;
    dense_ = Tensor(rows, b.d_model);
    active_ = Tensor(rows, b.d_model);
    d_dense_ = Tensor(rows, b.d_model);
    d_transform_ = {parameters.grad("head_transform.weight"), parameters.grad("head_transform.bias")};
    d_norm_ = {parameters.grad("head_norm.weight"), parameters.grad("head_norm.bias")};
}

double BeforeHead::floats(const Blueprint& b, double rows) {
    const int tensors = b.head_transform ? 4 : b.head_scale != 1 ? 1 : 0;
    return (static_cast<double>(tensors) * b.d_model + 2.0 * b.embedding_width) * rows;
}

View BeforeHead::forward(View x) {
    const Blueprint& b = blueprint_;
    if (b.head_transform) {
        linear(x, weights_.head_transform, scratch_, dense_.view());
        activate(b.activation, dense_.view(), active_.view());
        norm(b.norm, active_.view(), weights_.head_norm.weight, weights_.head_norm.bias, b.norm_eps, out_.view());
        x = out_.view();
    }
    if (b.head_scale != 1) {
        multiply(x, b.head_scale, out_.view());
        x = out_.view();
    }
    if (b.embedding_width == 0) return x;
    linear(x, weights_.head_projection, scratch_, narrow_.view());
    return narrow_.view();
}

void BeforeHead::backward(View x, View d) {
    const Blueprint& b = blueprint_;
    if (b.embedding_width != 0)
        linear_backward(d_narrow_.view(), b.head_transform || b.head_scale != 1 ? out_.view() : x,
                        weights_.head_projection, scratch_, d, false, d_projection_);
    if (b.head_scale != 1) multiply(d, b.head_scale, d);
    if (!b.head_transform) return;
    norm_backward(b.norm, active_.view(), weights_.head_norm.weight, b.norm_eps, d, d, false, d_norm_.weight,
                  d_norm_.bias);
    activation_backward(b.activation, false, dense_.view(), d, d_dense_.view());
    linear_backward(d_dense_.view(), x, weights_.head_transform, scratch_, d, false, d_transform_);
}

} // namespace ordo
