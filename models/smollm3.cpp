// SPDX-License-Identifier: MIT
// SmolLM3 (Hugging Face 2025) at 3 billion parameters: rope in three layers of four.
#include "models/catalog.h"

namespace ordo {
namespace smollm3_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "smollm3";
    b.vocab_size = 128256;
    b.context = 65536;
    b.n_layers = 36;
    b.d_model = 2048;
    b.n_heads = 16;
    b.n_kv_heads = 4;
    b.d_head = 128;
    b.d_ff = 11008;
    return b;
}

// Whether each layer has rope. Despite the key's name, 1 means that it has.
std::vector<bool> layers_with_rope(const Config& c, int n_layers) {
    std::vector<bool> with;
    const int interval = c.integer("no_rope_layer_interval", 4, 1, 1 << 10);
    for (int i = 0; i < n_layers; ++i) with.push_back((i + 1) % interval != 0);
    if (!c.has("no_rope_layers")) return with;
    const std::vector<double> said = c.numbers("no_rope_layers", 0, 1);
    if (said.size() != with.size())
        c.refuse("no_rope_layers", "0 or 1 for each of " + std::to_string(n_layers) + " layers");
    for (std::size_t i = 0; i < with.size(); ++i) with[i] = said[i] == 1;
    return with;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 32768, "num_key_value_heads": 4})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.tied_head = c.flag("tie_word_embeddings", true);
    b.attention_bias(c.flag("attention_bias", false));
    b.ffn_bias = c.flag("mlp_bias", false);
    const std::vector<bool> with_rope = layers_with_rope(c, b.n_layers);
    set_windows(c, b, 0, [&](int i) { return !with_rope[i]; });
    const std::string rope = rope_spec(c, plan, {.theta = 2000000});
    std::vector<std::string> specs;
    for (const bool has : with_rope) specs.push_back(has ? rope : "none");
    plan.encoding = pattern_of(specs);
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

// Every fourth layer is without rope: a GGUF has no key for it.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    const std::string rope = gguf_rope_spec(c, tensors, plan.blueprint, "adjacent");
    plan.encoding = pattern_of(std::vector<std::string>{rope, rope, rope, "none"});
    return plan;
}

} // namespace smollm3_file

const Architecture smollm3_architecture = {"smollm3",
                                           "SmolLM3: Llama with rope in three layers of four, tied head",
                                           smollm3_file::make,
                                           "pattern(rope,rope,rope,none)",
                                           {{"smollm3"}, smollm3_file::plan_of_config, smollm3_file::names},
                                           {{"smollm3"}, smollm3_file::plan_of_gguf}};

} // namespace ordo
