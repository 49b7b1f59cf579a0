// SPDX-License-Identifier: MIT
// One layer of a transformer: attention and feed-forward with their norms and residuals.
#pragma once

#include "layers/attention.h"
#include "layers/feed_forward.h"
#include "ops/norm.h"

namespace ordo {

struct NormWeights {
    View weight, bias; // [1, d]; no bias with Norm::rms
};

struct BlockShape {
    AttentionShape attention;
    Norm norm = Norm::rms;
    float norm_eps = 0;
    NormPlace norm_place = NormPlace::pre;
    bool parallel_residual = false;
};

struct BlockWeights {
    NormWeights attention_norm;
    Linear qkv, attention_out;
    NormWeights feed_forward_norm; // unused with parallel_residual
    FeedForward feed_forward;
};

// Working memory for at least as many rows as are computed at once.
struct BlockScratch {
    View normed;   // [n, d]
    View branch;   // [n, d]
    View qkv;      // [n, (n_heads + 2 n_kv_heads) d_head]
    View attended; // [n, n_heads d_head]
    View hidden;   // [n, d_ff or 2 d_ff]
    AttentionScratch* attention;
    RowScratch* quant;
};

// x [n, d], in place: the rows of the parts, as attention() takes them.
//   pre:      x += attention(norm(x)); x += feed_forward(norm'(x))
//   parallel: x += attention(norm(x)) + feed_forward(norm(x))      Wang and Komatsuzaki 2021
//   post:     x = norm(x + attention(x)); x = norm'(x + feed_forward(x))
void block(const BlockShape& shape, const BlockWeights& w, const EncodingStack& encodings, int layer,
           std::span<const Part> parts, const BlockScratch& scratch, View x);

} // namespace ordo
