// SPDX-License-Identifier: MIT
#include "layers/block.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

void add(View from, View to) {
    const Kernels& k = kernels();
    parallel_for(to.rows, std::max(1, 16384 / to.cols),
                 [&](std::ptrdiff_t i) { k.add(to.cols, from.row(static_cast<int>(i)), to.row(static_cast<int>(i))); });
}

} // namespace

void block(const BlockShape& shape, const BlockWeights& w, const EncodingStack& encodings, int layer,
           std::span<const Part> parts, const BlockScratch& s, View x) {
    const int n = x.rows;
    const View normed = rows_of(s.normed, 0, n), branch = rows_of(s.branch, 0, n), qkv = rows_of(s.qkv, 0, n);
    const View attended = rows_of(s.attended, 0, n), hidden = rows_of(s.hidden, 0, n);
    const auto normalise = [&](const NormWeights& weights, View from, View to) {
        norm(shape.norm, from, weights.weight, weights.bias, shape.norm_eps, to);
    };
    const auto attend = [&](View from) {
        linear(from, w.qkv, *s.quant, qkv);
        attention(shape.attention, encodings, layer, parts, qkv, *s.attention, attended);
        linear(attended, w.attention_out, *s.quant, branch);
    };

    if (shape.norm_place == NormPlace::post) {
        attend(x);
        add(branch, x);
        normalise(w.attention_norm, x, x);
        feed_forward(w.feed_forward, x, *s.quant, hidden, branch);
        add(branch, x);
        normalise(w.feed_forward_norm, x, x);
        return;
    }
    normalise(w.attention_norm, x, normed);
    attend(normed);
    add(branch, x);
    if (!shape.parallel_residual) normalise(w.feed_forward_norm, x, normed);
    feed_forward(w.feed_forward, normed, *s.quant, hidden, branch);
    add(branch, x);
}

} // namespace ordo
