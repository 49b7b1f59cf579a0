// SPDX-License-Identifier: MIT
// Llama (Touvron et al. 2023, arXiv 2302.13971) with grouped queries, at TinyLlama's 1.1 billion parameters.
#include "models/catalog.h"

namespace ordo {
namespace llama_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "llama";
    b.vocab_size = 32000;
    b.context = 2048;
    b.n_layers = 22;
    b.d_model = 2048;
    b.n_heads = 32;
    b.n_kv_heads = 4;
    b.d_head = 64;
    b.d_ff = 5632;
    b.tied_head = false;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 2048})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.tied_head = c.flag("tie_word_embeddings", false);
    b.attention_bias(c.flag("attention_bias", false));
    b.ffn_bias = c.flag("mlp_bias", false);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    return llama_names();
}

// Rows of queries and keys in a GGUF are in the order of adjacent pairs, as in Llama's own code.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "adjacent");
    return plan;
}

} // namespace llama_file

const Architecture llama_architecture = {"llama",
                                         "Llama: pre-norm RMSNorm, SwiGLU, grouped-query attention, own head",
                                         llama_file::make,
                                         "rope",
                                         {{"llama"}, llama_file::plan_of_config, llama_file::names},
                                         {{"llama"}, llama_file::plan_of_gguf}};

} // namespace ordo
