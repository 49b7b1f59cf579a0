// SPDX-License-Identifier: MIT
// Gradients of the layers, written by hand. dx, dw ... stand for the derivative of the loss by x, w.
// Sums over rows run in fixed blocks, so that the bits do not depend on the number of threads.
// n: rows (tokens of the whole batch), d: d_model, e: d_head.
#pragma once

#include "core/blas.h"
#include "core/tensor.h"
#include "encoding/registry.h"
#include "model/blueprint.h"

namespace ordo::train {

// What computes the matrix products: gemm(), which is BLAS and has threads of its own, or gemm_alone().
using Gemm = void (*)(View a, Transpose ta, View b, Transpose tb, View c, float beta);
// gemm() by the engine's kernels on the calling thread, which BLAS may not be called on inside a parallel
// loop: for many small networks that are trained side by side, each on one thread.
void gemm_alone(View a, Transpose ta, View b, Transpose tb, View c, float beta);

// y [n, m] = x [n, k] w^T + bias; bias may have no data.
void linear(Gemm product, View x, View w, View bias, View y);
// dx = dy w (or is added to, with accumulate; dx without data is not computed); dw += dy^T x;
// dbias += column sums of dy.
void linear_backward(Gemm product, View dy, View x, View w, View dx, bool accumulate, View dw, View dbias);

// x is the input of the norm. dx = the gradient (or is added to); dweight and dbias [1, d] are added to.
void norm_backward(Norm norm, float eps, View x, View weight, View dy, View dx, bool accumulate, View dweight,
                   View dbias);

// in [n, d_ff] or gated [n, 2 d_ff] (gate, then up); dy [n, d_ff]; writes d_in of in's shape.
void activation_backward(Activation activation, bool gated, View in, View dy, View d_in);

// The attention of a batch of whole sequences, without a cache.
struct AttentionShape {
    int batch, length; // sequences and tokens of each: n = batch * length
    int n_heads, n_kv_heads, d_head;
    float scale;
    Mask mask;
    int window; // 0: all
    int layer;
};

class Attention {
public:
    explicit Attention(const AttentionShape& shape);
    static std::size_t floats(const AttentionShape& shape); // that such an object takes
    // qkv [n, (n_heads + 2 n_kv_heads) e], queries and keys already rotated; out [n, n_heads e].
    void forward(View qkv, const EncodingStack& encodings, Positions positions, View out, int layer);
    // dqkv is overwritten. The scores are computed again rather than kept: no [length, length] matrix
    // outlives its tile.
    void backward(View qkv, View out, View dout, const EncodingStack& encodings, Positions positions, View dqkv,
                  int layer);

private:
    struct Scratch; // of one thread
    void weights(const Scratch& s, View q, int first, int rows, const EncodingStack& encodings, Positions positions,
                 int layer, int head) const;
    int visible(int first, int rows) const;

    AttentionShape shape_;
    std::size_t scratch_floats_;
    Buffer<float> scratch_; // [threads, scratch_floats_]
    Scratch scratch_of_thread();
};

// Mean of -log softmax(h head^T)[target] over the rows whose target is >= 0, in nats. If dh has data,
// writes d/dh and adds to dhead. logits: scratch [some rows, vocab].
double cross_entropy(Gemm product, View h, View head, std::span<const Token> targets, View dh, View dhead, View logits);

} // namespace ordo::train
