// SPDX-License-Identifier: MIT
// Mixtral (Jiang et al. 2024, arXiv 2401.04088): Mistral with a mixture of experts.
#include "models/catalog.h"

namespace ordo {
namespace mixtral_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "mixtral";
    b.vocab_size = 32000;
    b.context = 32768;
    b.n_layers = 32;
    b.d_model = 4096;
    b.n_heads = 32;
    b.n_kv_heads = 8;
    b.d_head = 128;
    b.d_ff = 14336;
    b.experts = 8;
    b.experts_used = 2;
    b.tied_head = false;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults =
    R"({"max_position_embeddings": 131072, "num_key_value_heads": 8, "rms_norm_eps": 1e-5})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.experts = c.integer(c.first_of({"num_local_experts", "num_experts"}));
    b.experts_used = c.integer("num_experts_per_tok", 2, 1, 1024);
    b.tied_head = c.flag("tie_word_embeddings", false);
    b.window = window_of(c, 0);
    plan.encoding = rope_spec(c, plan, {.theta = 1e6});
    return plan;
}

// Version 5 of transformers stores all experts of a layer in two tensors.
NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    constexpr std::string_view in = "layers.#.feed_forward.experts.@.in.weight",
                               out = "layers.#.feed_forward.experts.@.out.weight";
    map.rules.insert(map.rules.begin(),
                     {{"layers.#.feed_forward.router", "model.layers.#.block_sparse_moe.gate"},
                      {"layers.#.feed_forward.router", "model.layers.#.mlp.gate"},
                      {"layers.#.feed_forward.experts.@.gate", "model.layers.#.block_sparse_moe.experts.@.w1"},
                      {"layers.#.feed_forward.experts.@.up", "model.layers.#.block_sparse_moe.experts.@.w3"},
                      {"layers.#.feed_forward.experts.@.out", "model.layers.#.block_sparse_moe.experts.@.w2"},
                      {in, "model.layers.#.mlp.experts.gate_up_proj", Layout::expert},
                      {out, "model.layers.#.mlp.experts.down_proj", Layout::expert}});
    return map;
}

} // namespace mixtral_file

const Architecture mixtral_architecture = {"mixtral",
                                           "Mixtral: Llama with experts",
                                           mixtral_file::make,
                                           "rope:theta=1000000",
                                           {{"mixtral"}, mixtral_file::plan_of_config, mixtral_file::names}};

} // namespace ordo
