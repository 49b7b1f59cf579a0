// SPDX-License-Identifier: MIT
// Qwen 2 and 3 with experts (Yang et al. 2024, arXiv 2407.10671; Yang et al. 2025, arXiv 2505.09388). The shape is that
// of Qwen 3 at 30 billion parameters.
#include "models/catalog.h"

#include <algorithm>

namespace ordo {
namespace qwen_moe_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "qwen_moe";
    b.vocab_size = 151936;
    b.context = 40960;
    b.n_layers = 48;
    b.d_model = 2048;
    b.n_heads = 32;
    b.n_kv_heads = 4;
    b.d_head = 128;
    b.d_ff = 768;
    b.experts = 128;
    b.experts_used = 8;
    b.qk_norm = QkNorm::head;
    b.tied_head = false;
    return b;
}

// Some layers have a single feed-forward part: the listed layers, and all layers outside the sparse step.
void set_dense_layers(const Config& c, Blueprint& b) {
    const int step = c.integer("decoder_sparse_step", 1, 1, 1024);
    std::vector<double> listed;
    if (c.has("mlp_only_layers")) listed = c.numbers("mlp_only_layers", 0, 1024);
    std::vector<LayerPlan> layers;
    bool any = false;
    for (int i = 0; i < b.n_layers; ++i) {
        layers.push_back(b.layer(i));
        if ((i + 1) % step == 0 && std::find(listed.begin(), listed.end(), i) == listed.end()) continue;
        layers.back().experts = layers.back().experts_used = layers.back().shared_expert = 0;
        layers.back().ffn_width = c.integer("intermediate_size");
        any = true;
    }
    if (any) b.pattern = to_period(std::move(layers));
}

// The published classes' defaults for missing keys.
constexpr std::string_view
    defaults2 = R"({"max_position_embeddings": 32768, "num_key_value_heads": 16, "max_window_layers": 28})",
    defaults3 = R"({"max_position_embeddings": 32768, "num_key_value_heads": 4})";

// Without a list, every other of the first layers of Qwen 2 slides. In Qwen 3 all layers slide, with or without a list.
void set_windows_of(const Config& c, Blueprint& b, bool third) {
    const int most = third ? 0 : c.integer("max_window_layers", 0, 1 << 20);
    set_windows(c, b, 4096, [&](int i) { return third || (i % 2 == 0 && i < most); });
}

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const bool third = given.text("model_type", "") == "qwen3_moe";
    const Config c = given.with_defaults(third ? defaults3 : defaults2);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_llama_sizes(c, b);
    b.d_ff = c.integer("moe_intermediate_size");
    b.experts = c.integer("num_experts");
    b.experts_used = c.integer("num_experts_per_tok");
    b.experts_renormalised = c.flag("norm_topk_prob", false);
    if (third)
        c.absent("shared_expert_intermediate_size");
    else
        b.shared_expert = c.integer("shared_expert_intermediate_size");
    b.qk_norm = third ? QkNorm::head : QkNorm::none;
    if (third)
        b.attention_bias(c.flag("attention_bias", false));
    else
        b.q_bias = b.k_bias = b.v_bias = c.flag("qkv_bias", true);
    b.tied_head = c.flag("tie_word_embeddings", false);
    set_windows_of(c, b, third);
    set_dense_layers(c, b);
    plan.encoding = rope_spec(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    NameMap map = llama_names();
    map.rules.insert(map.rules.begin(),
                     {{"layers.#.feed_forward.router", "model.layers.#.mlp.gate"},
                      {"layers.#.feed_forward.experts.@.gate", "model.layers.#.mlp.experts.@.gate_proj"},
                      {"layers.#.feed_forward.experts.@.up", "model.layers.#.mlp.experts.@.up_proj"},
                      {"layers.#.feed_forward.experts.@.out", "model.layers.#.mlp.experts.@.down_proj"},
                      {"layers.#.feed_forward.shared.gate", "model.layers.#.mlp.shared_expert.gate_proj"},
                      {"layers.#.feed_forward.shared.up", "model.layers.#.mlp.shared_expert.up_proj"},
                      {"layers.#.feed_forward.shared.out", "model.layers.#.mlp.shared_expert.down_proj"},
                      {"layers.#.feed_forward.shared_gate", "model.layers.#.mlp.shared_expert_gate"}});
    return map;
}

// In a GGUF every layer has experts. The architecture decides whether their weights are divided by their sum: they are
// in Qwen 3, and are not in Qwen 2, which has a shared expert. A key that contradicts this is refused.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    const bool shared = tensors.find("blk.0.ffn_gate_inp_shexp.weight") != nullptr;
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    b.qk_norm = QkNorm::none; // unless the tensors are there
    b.experts_renormalised = !shared;
    read_gguf_sizes(c, tensors, b);
    if (b.experts == 0) c.refuse("expert_count", "at least 1");
    const int single = b.d_ff; // the width of the part for all experts together
    b.d_ff = c.integer("expert_feed_forward_length", std::max(1, single / std::max(1, b.experts_used)), 1, 1 << 20);
    if (shared) b.shared_expert = c.integer("expert_shared_feed_forward_length", single, 1, 1 << 20);
    plan.encoding = gguf_rope_spec(c, tensors, b, "halves");
    return plan;
}

} // namespace qwen_moe_file

const Architecture qwen_moe_architecture = {
    "qwen_moe",
    "Qwen with experts: Llama with a norm of queries and keys, and experts",
    qwen_moe_file::make,
    "rope:theta=1000000",
    {{"qwen2_moe", "qwen3_moe"}, qwen_moe_file::plan_of_config, qwen_moe_file::names},
    {{"qwen2moe", "qwen3moe"},
     qwen_moe_file::plan_of_gguf,
     {{"layers.#.feed_forward.shared.gate", "blk.#.ffn_gate_shexp"},
      {"layers.#.feed_forward.shared.up", "blk.#.ffn_up_shexp"},
      {"layers.#.feed_forward.shared.out", "blk.#.ffn_down_shexp"},
      {"layers.#.feed_forward.shared_gate", "blk.#.ffn_gate_inp_shexp"}}}};

} // namespace ordo
