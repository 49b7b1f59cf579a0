// SPDX-License-Identifier: MIT
// Command R and Aya 23 (Cohere 2024), the size of 8 billion parameters: Cohere 2 with rope in all layers, no windows.
#include "models/catalog.h"

namespace ordo {
namespace cohere_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "cohere";
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

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 8192})";

// The default theta is 10000 in transformers 4 and 500000 in transformers 5, so the key is required.
void require_theta(const Config& c) {
    const std::optional<Config> parameters = c.object("rope_parameters");
    if (!c.has("rope_theta") && !(parameters && parameters->has("rope_theta"))) c.refuse("rope_theta", "a number");
}

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    c.only("use_qk_norm", false); // Command R+: a weight for each column of each head
    require_theta(c);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.norm_eps = c.norm_eps("layer_norm_eps", 1e-5);
    b.attention_bias(c.flag("attention_bias", false));
    b.head_scale = static_cast<float>(c.number("logit_scale", 0.0625, 1e-6, 1e6));
    b.tied_head = c.flag("tie_word_embeddings", true);
    plan.encoding = rope_spec(c, plan, {.pairing = "adjacent"});
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
    plan.encoding = gguf_rope_spec(c, tensors, b, "adjacent");
    return plan;
}

} // namespace cohere_file

const Architecture cohere_architecture = {"cohere",
                                          "Command R, Aya 23: attention and feed-forward side by side, LayerNorm",
                                          cohere_file::make,
                                          "rope:pairing=adjacent",
                                          {{"cohere"}, cohere_file::plan_of_config, cohere_file::names},
                                          {{"command-r"}, cohere_file::plan_of_gguf}};

} // namespace ordo
