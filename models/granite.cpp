// SPDX-License-Identifier: MIT
// Granite 3 (IBM 2024), the size of 2 billion parameters: Llama with four factors.
#include "models/catalog.h"

namespace ordo {
namespace {

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

// What the published class takes for keys that a file leaves out.
constexpr std::string_view defaults = R"({"max_position_embeddings": 2048})";

// A stream x to which each branch f is added with a factor r, x += r f(norm(x)), is r times the stream y = x / r with
// y += f(norm(r y)). An RMS norm takes the factor out again where its eps is divided by r^2: norm(r y, eps) = norm(y,
// eps / r^2). So the embedding's rows are divided by r, and no branch has a factor.
ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    c.only("mlp_bias", false);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    const double residual = c.number("residual_multiplier", 1, 1e-2, 1e2);
    b.norm_eps = static_cast<float>(static_cast<double>(b.norm_eps) / (residual * residual));
    if (b.norm_eps > 1) c.refuse("residual_multiplier", "more than the root of rms_norm_eps");
    b.embedding_scale = static_cast<float>(c.number("embedding_multiplier", 1, 1e-6, 1e6) / residual);
    b.score_scale = static_cast<float>(c.number("attention_multiplier", 1, 1e-6, 1e6));
    b.head_scale = static_cast<float>(1 / c.number("logits_scaling", 1, 1e-6, 1e6));
    b.attention_bias(c.flag("attention_bias", false));
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

} // namespace

const Architecture granite_architecture = {
    "granite",
    "Granite: Llama with factors of the embedding, the scores, the branches and the logits",
    make,
    "rope",
    {{"granite"}, plan_of_config, names, {"granite"}}};

} // namespace ordo
