// SPDX-License-Identifier: MIT
// Qwen 3 (Yang et al. 2025, arXiv 2505.09388), the size of 0.6 billion parameters: norms of queries and keys.
#include "models/catalog.h"

namespace ordo {
namespace qwen3_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "qwen3";
    b.vocab_size = 151936;
    b.context = 40960;
    b.n_layers = 28;
    b.d_model = 1024;
    b.n_heads = 16;
    b.n_kv_heads = 8;
    b.d_head = 128;
    b.d_ff = 3072;
    b.qk_norm = QkNorm::head;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults =
    R"({"max_position_embeddings": 32768, "num_key_value_heads": 32, "max_window_layers": 28})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.d_head = c.integer("head_dim", 128, 1, 1024);
    b.tied_head = c.flag("tie_word_embeddings", false);
    b.attention_bias(c.flag("attention_bias", false));
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

} // namespace qwen3_file

const Architecture qwen3_architecture = {"qwen3",
                                         "Qwen 3: Llama with a norm of each head's queries and keys",
                                         qwen3_file::make,
                                         "rope:theta=1000000",
                                         {{"qwen3"}, qwen3_file::plan_of_config, qwen3_file::names},
                                         {{"qwen3"}, qwen3_file::plan_of_gguf}};

} // namespace ordo
