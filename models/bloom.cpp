// SPDX-License-Identifier: MIT
// BLOOM (BigScience 2022, arXiv 2211.05100), the size of 560 million parameters.
#include "models/catalog.h"

namespace ordo {
namespace {

Blueprint make() {
    Blueprint b;
    b.architecture = "bloom";
    b.vocab_size = 250880;
    b.context = 2048;
    b.n_layers = 24;
    b.d_model = 1024;
    b.n_heads = 16;
    b.n_kv_heads = 16;
    b.d_head = 64;
    b.d_ff = 4096;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.embedding_norm = true;
    return b;
}

} // namespace

const Architecture bloom_architecture = {
    "bloom", "BLOOM: LayerNorm, also after the embedding, GELU (tanh), biases, tied head", make, "alibi"};

} // namespace ordo
