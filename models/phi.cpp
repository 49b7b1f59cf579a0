// SPDX-License-Identifier: MIT
// Phi 1, 1.5 and 2 (Li et al. 2023, arXiv 2309.05463) at 2.7 billion parameters.
#include "models/catalog.h"

namespace ordo {
namespace phi_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "phi";
    b.vocab_size = 51200;
    b.context = 2048;
    b.n_layers = 32;
    b.d_model = 2560;
    b.n_heads = 32;
    b.n_kv_heads = 32;
    b.d_head = 80;
    b.d_ff = 10240;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::parallel;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.ffn_bias = true;
    b.tied_head = false;
    b.head_bias = true;
    b.attention_bias(true);
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 2048})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    c.only("qk_layernorm", false);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("layer_norm_eps", 1e-5);
    b.activation = activation_of(c, "hidden_act", "gelu_new");
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan, {.share = 0.5});
    return plan;
}

NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    map.rules.insert(map.rules.begin(), {{"layers.#.attention.out", "model.layers.#.self_attn.dense"},
                                         {"layers.#.feed_forward.in", "model.layers.#.mlp.fc1"},
                                         {"layers.#.feed_forward.out", "model.layers.#.mlp.fc2"},
                                         {"final_norm", "model.final_layernorm"}});
    return map;
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace phi_file

const Architecture phi_architecture = {"phi",
                                       "Phi: attention and feed-forward side by side behind one LayerNorm, biases",
                                       phi_file::make,
                                       "rope:width=32,pairing=halves",
                                       {{"phi"}, phi_file::plan_of_config, phi_file::names},
                                       {{"phi2"}, phi_file::plan_of_gguf}};

} // namespace ordo
