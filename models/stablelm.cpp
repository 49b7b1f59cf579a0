// SPDX-License-Identifier: MIT
// StableLM (Stability AI 2023), the size of 3 billion parameters: Llama with LayerNorm, and rope on a quarter of each
// head.
#include "models/catalog.h"

namespace ordo {
namespace stablelm_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "stablelm";
    b.vocab_size = 50304;
    b.context = 4096;
    b.n_layers = 32;
    b.d_model = 2560;
    b.n_heads = 32;
    b.n_kv_heads = 32;
    b.d_head = 80;
    b.d_ff = 6912;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.tied_head = false;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 4096, "num_key_value_heads": 32})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    c.only("qk_layernorm", false);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    if (b.d_model % b.n_heads != 0) c.refuse("num_attention_heads", "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    b.norm_eps = c.norm_eps("layer_norm_eps", 1e-5);
    b.norm_place = c.flag("use_parallel_residual", false) ? NormPlace::parallel : NormPlace::pre;
    b.q_bias = b.k_bias = b.v_bias = c.flag("use_qkv_bias", false);
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan, {.share = 0.25});
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

// llama.cpp recognises parallel branches by the missing norm. It ignores the key use_parallel_residual.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    const bool two = tensors.find("blk.0.ffn_norm.weight") != nullptr;
    plan.blueprint.norm_place = two ? NormPlace::pre : NormPlace::parallel;
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace stablelm_file

const Architecture stablelm_architecture = {"stablelm",
                                            "StableLM: LayerNorm, a gated branch, rope on a part of each head",
                                            stablelm_file::make,
                                            "rope:width=20",
                                            {{"stablelm"}, stablelm_file::plan_of_config, stablelm_file::names},
                                            {{"stablelm"}, stablelm_file::plan_of_gguf}};

} // namespace ordo
