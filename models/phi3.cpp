// SPDX-License-Identifier: MIT
// Phi 3 and 4 (Abdin et al. 2024, arXiv 2404.14219), the size of 3.8 billion parameters: fused q, k, v and gate, up.
#include "models/catalog.h"

namespace ordo {
namespace phi3_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "phi3";
    b.vocab_size = 32064;
    b.context = 4096;
    b.n_layers = 32;
    b.d_model = 3072;
    b.n_heads = 32;
    b.n_kv_heads = 32;
    b.d_head = 96;
    b.d_ff = 8192;
    b.window = 2047;
    b.tied_head = false;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults =
    R"({"max_position_embeddings": 4096, "original_max_position_embeddings": 4096, "rms_norm_eps": 1e-5})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.tied_head = c.flag("tie_word_embeddings", false);
    b.window = window_of(c, 0);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    map.rules.insert(map.rules.begin(), {{"layers.#.attention.qkv", "model.layers.#.self_attn.qkv_proj"},
                                         {"layers.#.feed_forward.in", "model.layers.#.mlp.gate_up_proj"}});
    return map;
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace phi3_file

const Architecture phi3_architecture = {
    "phi3",
    "Phi 3: Llama with a window of keys",
    phi3_file::make,
    "rope",
    {{"phi3"}, phi3_file::plan_of_config, phi3_file::names},
    {{"phi3"}, phi3_file::plan_of_gguf, {{"layers.#.feed_forward.in", "blk.#.ffn_up"}}}};

} // namespace ordo
