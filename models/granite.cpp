// SPDX-License-Identifier: MIT
// Granite 3 (IBM 2024), the size of 2 billion parameters: Llama with four factors. MiniCPM (Hu et al. 2024, arXiv
// 2404.06395) has three of them, under other names.
#include "models/catalog.h"

#include <cmath>

namespace ordo {
namespace granite_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "granite";
    b.vocab_size = 49155;
    b.context = 4096;
    b.n_layers = 40;
    b.d_model = 2048;
    b.n_heads = 32;
    b.n_kv_heads = 8;
    b.d_head = 64;
    b.d_ff = 8192;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 2048})";

struct Factors {
    double embedding, residual, scores, logits; // logits are divided by their factor
};

// Removes the residual factor r. A stream x with x += r f(norm(x)) for each branch f is r times a stream y = x / r with
// y += f(norm(r y)). An RMS norm cancels the factor if its eps is divided by r^2: norm(r y, eps) = norm(y, eps / r^2).
// So the embedding's rows are divided by r, and no branch has a factor.
void apply(const Factors& f, const Config& c, std::string_view residual_key, Blueprint& b) {
    b.norm_eps = static_cast<float>(static_cast<double>(b.norm_eps) / (f.residual * f.residual));
    if (b.norm_eps > 1) c.refuse(residual_key, "more than the root of the epsilon of the norms");
    b.embedding_scale = static_cast<float>(f.embedding / f.residual);
    b.score_scale = static_cast<float>(f.scores);
    b.head_scale = static_cast<float>(1 / f.logits);
}

// MiniCPM's branches have the factor scale_depth / sqrt(layers), and its logits the divisor hidden_size /
// dim_model_base. The code beside its files has the head tied unless a key says otherwise.
ModelPlan plan_of_minicpm(const Config& c) {
    for (const char* key : {"num_experts", "sparse_config"}) c.absent(key);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    apply({.embedding = c.number("scale_emb", 1, 1e-6, 1e6),
           .residual = c.number("scale_depth", 1, 1e-2, 1e3) / std::sqrt(static_cast<double>(b.n_layers)),
           .scores = 0,
           .logits = static_cast<double>(b.d_model) / c.number("dim_model_base", 1, 1, 1e6)},
          c, "scale_depth", b);
    b.attention_bias(c.flag("attention_bias", false));
    b.tied_head = c.flag("tie_word_embeddings", true);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    if (given.text("model_type", "granite") == "minicpm") return plan_of_minicpm(given);
    const Config c = given.with_defaults(defaults);
    c.only("mlp_bias", false);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    apply({.embedding = c.number("embedding_multiplier", 1, 1e-6, 1e6),
           .residual = c.number("residual_multiplier", 1, 1e-2, 1e2),
           .scores = c.number("attention_multiplier", 1, 1e-6, 1e6),
           .logits = c.number("logits_scaling", 1, 1e-6, 1e6)},
          c, "residual_multiplier", b);
    b.attention_bias(c.flag("attention_bias", false));
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

// llama.cpp treats a factor of 0 as none; the factor of the logits is required. It omits rope if rope.scaling.finetuned
// is false, for a kind of Granite that also has state-space layers.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    c.only("rope.scaling.finetuned", true);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_gguf_sizes(c, tensors, b, {"embedding_scale", "residual_scale", "logit_scale"});
    const auto factor = [&](std::string_view key) {
        const double found = c.number(key, 0, 0, 1e6);
        return found == 0 ? 1 : found;
    };
    if (!c.has("logit_scale")) c.refuse("logit_scale", "a number");
    apply({.embedding = factor("embedding_scale"),
           .residual = factor("residual_scale"),
           .scores = static_cast<double>(b.score_scale),
           .logits = c.number("logit_scale", 1, 1e-6, 1e6)},
          c, "residual_scale", b);
    plan.encoding = gguf_rope_spec(c, tensors, b, "adjacent");
    return plan;
}

} // namespace granite_file

const Architecture granite_architecture = {
    "granite",
    "Granite: Llama with factors of the embedding, the scores, the branches and the logits",
    granite_file::make,
    "rope",
    {{"granite", "minicpm"}, granite_file::plan_of_config, granite_file::names},
    {{"granite"}, granite_file::plan_of_gguf}};

} // namespace ordo
