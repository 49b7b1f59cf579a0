// SPDX-License-Identifier: MIT
// EXAONE 4 (LG AI Research 2025, arXiv 2507.11407), the size of 32 billion parameters: OLMo 2's norms after the
// branches, norms of each head's queries and keys, and layers with a window. If there are any, the layers without a
// window have no rope.
#include "models/catalog.h"

namespace ordo {
namespace exaone4_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "exaone4";
    b.vocab_size = 102400;
    b.context = 131072;
    b.n_layers = 64;
    b.d_model = 5120;
    b.n_heads = 40;
    b.n_kv_heads = 8;
    b.d_head = 128;
    b.d_ff = 27392;
    b.norm_place = NormPlace::after;
    b.qk_norm = QkNorm::head;
    b.tied_head = false;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 2048, "num_key_value_heads": 32})";

// Whether each layer has a window by sliding_window_pattern: 4, or "LLLG" for the same.
std::vector<bool> sliding_of(const Config& c, const Blueprint& b) {
    const JsonValue* const found = c.find("sliding_window_pattern");
    const bool letters = found != nullptr && found->string() != nullptr;
    const std::string pattern = letters ? c.text("sliding_window_pattern", "") : "";
    if (letters && (pattern.empty() || pattern.find_first_not_of("LG") != pattern.npos))
        c.refuse("sliding_window_pattern", "a number, or letters L and G");
    const int period = letters ? 0 : c.integer("sliding_window_pattern", 4, 1, 1 << 10);
    return sliding_layers(c, b.n_layers, [&](int i) {
        if (!letters) return (i + 1) % period != 0;
        return i + 1 < b.n_layers && pattern[static_cast<std::size_t>(i) % pattern.size()] == 'L';
    });
}

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("rms_norm_eps", 1e-5);
    b.tied_head = c.flag("tie_word_embeddings", false);
    const int window = window_of(c, 4096);
    plan.encoding = rope_spec(c, plan);
    if (window == 0) return plan;
    const std::vector<bool> sliding = sliding_of(c, b);
    set_sliding(b, sliding, window);
    std::vector<std::string> specs;
    for (const bool slides : sliding) specs.push_back(slides ? plan.encoding : "none");
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

} // namespace exaone4_file

const Architecture exaone4_architecture = {
    "exaone4",
    "EXAONE 4: norms after the branches, of queries and keys; windows with rope, whole attention without",
    exaone4_file::make,
    "pattern(rope,rope,rope,none)",
    {{"exaone4"}, exaone4_file::plan_of_config, exaone4_file::names}};

} // namespace ordo
