// SPDX-License-Identifier: MIT
// The decoder of Vaswani et al. 2017 (arXiv 1706.03762), base size, without cross-attention.
#include "models/catalog.h"

namespace ordo {
namespace transformer_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "transformer";
    b.vocab_size = 37000;
    b.context = 512;
    b.n_layers = 6;
    b.d_model = 512;
    b.n_heads = 8;
    b.n_kv_heads = 8;
    b.d_head = 64;
    b.d_ff = 2048;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::post;
    b.activation = Activation::relu;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.final_norm = false; // every layer ends with one
    return b;
}

} // namespace transformer_file

const Architecture transformer_architecture = {"transformer", "Vaswani et al. 2017: post-norm LayerNorm, ReLU, biases",
                                               transformer_file::make, "sinusoidal"};

} // namespace ordo
