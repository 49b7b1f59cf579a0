// SPDX-License-Identifier: MIT
// Llama (Touvron et al. 2023, arXiv 2302.13971) with grouped queries, at TinyLlama's 1.1 billion parameters.
#include "models/catalog.h"

namespace ordo {
namespace {

Blueprint make() {
    Blueprint b;
    b.architecture = "llama";
    b.vocab_size = 32000;
    b.context = 2048;
    b.n_layers = 22;
    b.d_model = 2048;
    b.n_heads = 32;
    b.n_kv_heads = 4;
    b.d_head = 64;
    b.d_ff = 5632;
    b.tied_head = false;
    return b;
}

} // namespace

const Architecture llama_architecture = {"llama", "Llama: pre-norm RMSNorm, SwiGLU, grouped-query attention, own head",
                                         make, "rope"};

} // namespace ordo
