// SPDX-License-Identifier: MIT
// Qwen 2 and 2.5 (Yang et al. 2024, arXiv 2407.10671), the size of half a billion parameters: biases of q, k and v.
#include "models/catalog.h"

namespace ordo {
namespace qwen2_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "qwen2";
    b.vocab_size = 151936;
    b.context = 32768;
    b.n_layers = 24;
    b.d_model = 896;
    b.n_heads = 14;
    b.n_kv_heads = 2;
    b.d_head = 64;
    b.d_ff = 4864;
    b.q_bias = true;
    b.k_bias = true;
    b.v_bias = true;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults =
    R"({"max_position_embeddings": 32768, "num_key_value_heads": 32, "max_window_layers": 28})";

// gte-Qwen2 and stella bring a class of this name with them, whose forward pass has is_causal = False by default.
bool brings_own_mask(const Config& c) {
    const JsonValue* const map = c.find("auto_map");
    const JsonValue* const own = map == nullptr ? nullptr : find_member(*map, "AutoModel");
    return !c.has("is_causal") && own != nullptr && own->string() &&
           own->string()->ends_with("modeling_qwen.Qwen2Model");
}

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    if (brings_own_mask(c)) {
        b.mask = Mask::bidirectional;
        plan.warnings.emplace_back(
            "config.json: 'auto_map': attention is bidirectional, as in modeling_qwen.Qwen2Model "
            "without 'is_causal'");
    }
    b.tied_head = c.flag("tie_word_embeddings", false);
    const int first = c.integer("max_window_layers", 0, 1 << 20);
    set_windows(c, b, 4096, [&](int i) { return i >= first; });
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace qwen2_file

const Architecture qwen2_architecture = {"qwen2",
                                         "Qwen 2: Llama with biases of queries, keys and values",
                                         qwen2_file::make,
                                         "rope:theta=1000000",
                                         {{"qwen2"}, qwen2_file::plan_of_config, qwen2_file::names},
                                         {{"qwen2"}, qwen2_file::plan_of_gguf}};

} // namespace ordo
