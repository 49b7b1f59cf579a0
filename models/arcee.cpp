// SPDX-License-Identifier: MIT
// AFM (Arcee 2025), the size of 4.5 billion parameters: Llama with a branch of ReLU squared without a gate. Nemotron 4
// (Parmar et al. 2024, arXiv 2402.16819) has LayerNorm and rope on a part of each head as well.
#include "models/catalog.h"

namespace ordo {
namespace arcee_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "arcee";
    b.vocab_size = 128004;
    b.context = 65536;
    b.n_layers = 36;
    b.d_model = 2560;
    b.n_heads = 20;
    b.n_kv_heads = 4;
    b.d_head = 128;
    b.d_ff = 18432;
    b.activation = Activation::relu2;
    b.gated = false;
    b.tied_head = false;
    return b;
}

Blueprint nemotron() {
    Blueprint b = make();
    b.architecture = "nemotron";
    b.norm = Norm::layer;
    b.norm_bias = true;
    return b;
}

// The published classes' defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 4096, "hidden_act": "relu2"})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    const bool llama = c.text("model_type", "arcee") == "arcee";
    ModelPlan plan{llama ? make() : nemotron(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps(llama ? "rms_norm_eps" : "norm_eps", 1e-5);
    b.attention_bias(c.flag("attention_bias", false));
    b.ffn_bias = c.flag("mlp_bias", false);
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan, {.share = llama ? 1 : 0.5});
    return plan;
}

NameMap names(const ModelPlan& plan) {
    NameMap map = llama_names();
    map.rules.push_back({"layers.#.feed_forward.in", "model.layers.#.mlp.up_proj"});
    if (plan.blueprint.norm == Norm::layer)
        for (NameRule& rule : map.rules) rule.plus_one = rule.ours.ends_with("norm");
    return map;
}

// Rows of queries and keys of an arcee GGUF are in the order of adjacent pairs, as Llama's.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    const bool llama = c.prefix() == "arcee.";
    ModelPlan plan{llama ? make() : nemotron(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, llama ? "adjacent" : "halves");
    return plan;
}

} // namespace arcee_file

const Architecture arcee_architecture = {"arcee",
                                         "AFM and Nemotron: Llama with a branch of ReLU squared without a gate",
                                         arcee_file::make,
                                         "rope",
                                         {{"arcee", "nemotron"}, arcee_file::plan_of_config, arcee_file::names},
                                         {{"arcee", "nemotron"}, arcee_file::plan_of_gguf}};

} // namespace ordo
