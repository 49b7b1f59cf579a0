// SPDX-License-Identifier: MIT
// Refact (Smallcloud 2023), the size of 1.6 billion parameters: Llama's trunk with one key/value head and ALiBi. Its
// GGUF architecture also fits any other such trunk.
#include "models/catalog.h"

namespace ordo {
namespace refact_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "refact";
    b.vocab_size = 49216;
    b.context = 4096;
    b.n_layers = 32;
    b.d_model = 2048;
    b.n_heads = 32;
    b.n_kv_heads = 1;
    b.d_head = 64;
    b.d_ff = 5632;
    b.tied_head = false;
    return b;
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), "alibi"};
    read_gguf_sizes(c, tensors, plan.blueprint);
    return plan;
}

} // namespace refact_file

const Architecture refact_architecture = {"refact",
                                          "Refact: Llama's layers with one head of keys, ALiBi",
                                          refact_file::make,
                                          "alibi",
                                          {},
                                          {{"refact"}, refact_file::plan_of_gguf}};

} // namespace ordo
