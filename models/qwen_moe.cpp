// SPDX-License-Identifier: MIT
// Qwen 2 and 3 with experts (Yang et al. 2025, arXiv 2505.09388); the shape is that of Qwen 3 at 30 billion parameters.
#include "models/catalog.h"

namespace ordo {
namespace {

Blueprint make() {
    Blueprint b;
    b.architecture = "qwen_moe";
    b.vocab_size = 151936;
    b.context = 40960;
    b.n_layers = 48;
    b.d_model = 2048;
    b.n_heads = 32;
    b.n_kv_heads = 4;
    b.d_head = 128;
    b.d_ff = 768;
    b.experts = 128;
    b.experts_used = 8;
    b.qk_norm = QkNorm::head;
    b.tied_head = false;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    const bool third = c.text("model_type", "") == "qwen3_moe";
    if (c.has("mlp_only_layers") && !c.numbers("mlp_only_layers", 0, 1024).empty())
        c.refuse("mlp_only_layers", "none: all layers have experts");
    c.only("decoder_sparse_step", 1.0);
    c.absent("shared_expert_intermediate_size"); // an expert that every token passes through, with a gate of its own
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.d_ff = c.integer("moe_intermediate_size");
    b.experts = c.integer("num_experts");
    b.experts_used = c.integer("num_experts_per_tok");
    b.experts_renormalised = c.flag("norm_topk_prob", false);
    b.qk_norm = third ? QkNorm::head : QkNorm::none;
    if (third)
        b.attention_bias(c.flag("attention_bias", false));
    else
        b.q_bias = b.k_bias = b.v_bias = c.flag("qkv_bias", true);
    b.tied_head = c.flag("tie_word_embeddings", false);
    set_windows(c, b);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    map.rules.insert(map.rules.begin(),
                     {{"layers.#.feed_forward.router", "model.layers.#.mlp.gate"},
                      {"layers.#.feed_forward.experts.@.gate", "model.layers.#.mlp.experts.@.gate_proj"},
                      {"layers.#.feed_forward.experts.@.up", "model.layers.#.mlp.experts.@.up_proj"},
                      {"layers.#.feed_forward.experts.@.out", "model.layers.#.mlp.experts.@.down_proj"}});
    return map;
}

} // namespace

const Architecture qwen_moe_architecture = {
    "qwen_moe",
    "Qwen with experts: Llama with a norm of queries and keys, and experts",
    make,
    "rope:theta=1000000",
    {{"qwen2_moe", "qwen3_moe"}, plan_of_config, names, {"qwen2moe", "qwen3moe"}}};

} // namespace ordo
