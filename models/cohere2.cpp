// SPDX-License-Identifier: MIT
// Command R7B and its relatives (Cohere 2024): rope in layers with a window, and no positions in the others.
#include "models/catalog.h"

namespace ordo {
namespace cohere2_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "cohere2";
    b.vocab_size = 256000;
    b.context = 8192;
    b.n_layers = 32;
    b.d_model = 4096;
    b.n_heads = 32;
    b.n_kv_heads = 8;
    b.d_head = 128;
    b.d_ff = 14336;
    b.norm = Norm::layer;
    b.norm_place = NormPlace::parallel;
    return b;
}

std::string where_it_slides(const std::string& rope, const std::vector<bool>& sliding) {
    std::vector<std::string> specs;
    for (const bool slides : sliding) specs.push_back(slides ? rope : "none");
    return pattern_of(specs);
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 8192})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    c.only("use_qk_norm", false);
    c.only("use_gated_activation", true);
    c.only("use_parallel_block", true);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("layer_norm_eps", 1e-5);
    b.attention_bias(c.flag("attention_bias", false));
    b.head_scale = static_cast<float>(c.number("logit_scale", 0.0625, 1e-6, 1e6));
    b.tied_head = c.flag("tie_word_embeddings", true);
    const int period = c.integer("sliding_window_pattern", 4, 1, 1 << 10);
    const std::vector<bool> sliding = sliding_layers(c, b.n_layers, [&](int i) { return (i + 1) % period != 0; });
    plan.encoding = where_it_slides(rope_spec(c, plan, {.pairing = "adjacent"}), sliding);
    set_sliding(b, sliding, window_of(c, 4096));
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    if (const double scale = c.number("logit_scale", 0, 0, 1e6); scale != 0) b.head_scale = static_cast<float>(scale);
    read_gguf_sizes(c, tensors, b, {"logit_scale"});
    const std::vector<bool> sliding = gguf_sliding_layers(c, b.n_layers, 4);
    plan.encoding = where_it_slides(gguf_rope_spec(c, tensors, b, "adjacent"), sliding);
    set_sliding(b, sliding, c.integer("attention.sliding_window"));
    return plan;
}

} // namespace cohere2_file

const Architecture cohere2_architecture = {
    "cohere2",
    "Cohere 2: attention and feed-forward side by side, a window in three layers of four",
    cohere2_file::make,
    "pattern(rope,rope,rope,none)",
    {{"cohere2"}, cohere2_file::plan_of_config, cohere2_file::names},
    {{"cohere2"}, cohere2_file::plan_of_gguf}};

} // namespace ordo
