// SPDX-License-Identifier: MIT
// OLMo 2 (OLMo Team 2024, arXiv 2501.00656), the size of 7 billion parameters: Llama with norms after the branches, and
// norms of all queries and of all keys together. OLMo 3 (2025) has a window in three layers of four, and scales rope in
// the others alone.
#include "models/catalog.h"

namespace ordo {
namespace olmo2_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "olmo2";
    b.vocab_size = 100352;
    b.context = 4096;
    b.n_layers = 32;
    b.d_model = 4096;
    b.n_heads = 32;
    b.n_kv_heads = 32;
    b.d_head = 128;
    b.d_ff = 11008;
    b.norm_place = NormPlace::after;
    b.qk_norm = QkNorm::width;
    b.tied_head = false;
    return b;
}

// The defaults of the published class for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 2048})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("rms_norm_eps", 1e-5);
    b.attention_bias(c.flag("attention_bias", false));
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan, {.layer_type = "full_attention"});
    if (c.text("model_type", "olmo2") == "olmo2") return plan;
    const std::vector<bool> sliding = sliding_layers(c, b.n_layers, [](int i) { return (i + 1) % 4 != 0; });
    if (const int window = window_of(c, 4096); window != 0) set_sliding(b, sliding, window);
    std::string near = rope_spec(c, plan, {.old_scaling = false, .layer_type = "sliding_attention"});
    near = near.substr(0, near.find(",scaling="));
    std::vector<std::string> specs;
    for (const bool slides : sliding) specs.push_back(slides ? near : plan.encoding);
    plan.encoding = pattern_of(specs);
    return plan;
}

NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    map.rules.insert(map.rules.begin(),
                     {{"layers.#.attention_out_norm", "model.layers.#.post_attention_layernorm"},
                      {"layers.#.feed_forward_out_norm", "model.layers.#.post_feedforward_layernorm"}});
    return map;
}

// Under this name llama.cpp also has OLMo 3, with a window and another rope in three layers of four.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    if (c.number("attention.sliding_window", 0, 0, 1e9) != 0)
        c.refuse("attention.sliding_window", "none, as in OLMo 2");
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_gguf_sizes(c, tensors, b);
    b.qk_norm = QkNorm::width; // even of a single head
    plan.encoding = gguf_rope_spec(c, tensors, b, "halves");
    return plan;
}

} // namespace olmo2_file

const Architecture olmo2_architecture = {
    "olmo2",
    "OLMo 2: Llama with norms after attention and feed-forward, and of queries and keys",
    olmo2_file::make,
    "rope:pairing=halves",
    {{"olmo2", "olmo3"}, olmo2_file::plan_of_config, olmo2_file::names},
    {{"olmo2"}, olmo2_file::plan_of_gguf}};

} // namespace ordo
