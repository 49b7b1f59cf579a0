// SPDX-License-Identifier: MIT
// StarCoder 2 (Lozhkov et al. 2024, arXiv 2402.19173), the size of 3 billion parameters.
#include "models/catalog.h"

namespace ordo {
namespace starcoder2_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "starcoder2";
    b.vocab_size = 49152;
    b.context = 16384;
    b.n_layers = 30;
    b.d_model = 3072;
    b.n_heads = 24;
    b.n_kv_heads = 2;
    b.d_head = 128;
    b.d_ff = 12288;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.ffn_bias = true;
    b.window = 4096;
    b.attention_bias(true);
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 4096, "num_key_value_heads": 2})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    c.only("mlp_type", "default");
    c.only("norm_type", "layer_norm");
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("norm_epsilon", 1e-5);
    b.activation = activation_of(c, "hidden_act", "gelu_pytorch_tanh");
    b.attention_bias(c.flag("use_bias", true));
    b.ffn_bias = c.flag("use_bias", true);
    b.tied_head = c.flag("tie_word_embeddings", true);
    b.window = window_of(c, 0);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    map.rules.insert(map.rules.begin(), {{"layers.#.feed_forward.in", "model.layers.#.mlp.c_fc"},
                                         {"layers.#.feed_forward.out", "model.layers.#.mlp.c_proj"}});
    return map;
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace starcoder2_file

const Architecture starcoder2_architecture = {
    "starcoder2",
    "StarCoder 2: pre-norm LayerNorm, GELU (tanh), biases, a window of keys, tied head",
    starcoder2_file::make,
    "rope:theta=1000000",
    {{"starcoder2"}, starcoder2_file::plan_of_config, starcoder2_file::names},
    {{"starcoder2"}, starcoder2_file::plan_of_gguf}};

} // namespace ordo
