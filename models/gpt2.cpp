// SPDX-License-Identifier: MIT
// GPT-2 (Radford et al. 2019), the size of 124 million parameters.
#include "models/catalog.h"

namespace ordo {
namespace {

Blueprint make() {
    Blueprint b;
    b.architecture = "gpt2";
    b.vocab_size = 50257;
    b.context = 1024;
    b.n_layers = 12;
    b.d_model = 768;
    b.n_heads = 12;
    b.n_kv_heads = 12;
    b.d_head = 64;
    b.d_ff = 3072;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    return b;
}

} // namespace

const Architecture gpt2_architecture = {"gpt2", "GPT-2: pre-norm LayerNorm, GELU (tanh), biases, tied head", make,
                                        "learned"};

} // namespace ordo
