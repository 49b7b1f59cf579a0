// SPDX-License-Identifier: MIT
// GPT-J (Wang and Komatsuzaki 2021) at 6 billion parameters; the bias of its head is left out.
#include "models/catalog.h"

namespace ordo {
namespace {

Blueprint make() {
    Blueprint b;
    b.architecture = "gptj";
    b.vocab_size = 50400;
    b.context = 2048;
    b.n_layers = 28;
    b.d_model = 4096;
    b.n_heads = 16;
    b.n_kv_heads = 16;
    b.d_head = 256;
    b.d_ff = 16384;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::parallel;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.ffn_bias = true;
    b.tied_head = false;
    return b;
}

} // namespace

const Architecture gptj_architecture = {"gptj", "GPT-J: attention and feed-forward side by side behind one LayerNorm",
                                        make, "rope:width=64"};

} // namespace ordo
