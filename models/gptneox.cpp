// SPDX-License-Identifier: MIT
// GPT-NeoX and Pythia (Black et al. 2022, arXiv 2204.06745; Biderman et al. 2023), at 70 million parameters.
#include "models/catalog.h"

namespace ordo {
namespace gptneox_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "gptneox";
    b.vocab_size = 50304;
    b.context = 2048;
    b.n_layers = 6;
    b.d_model = 512;
    b.n_heads = 8;
    b.n_kv_heads = 8;
    b.d_head = 64;
    b.d_ff = 2048;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::parallel_two;
    b.activation = Activation::gelu;
    b.gated = false;
    b.ffn_bias = true;
    b.tied_head = false;
    b.attention_bias(true);
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers("num_hidden_layers");
    b.d_model = c.integer("hidden_size");
    b.n_heads = b.n_kv_heads = c.integer("num_attention_heads");
    if (b.d_model % b.n_heads != 0) c.refuse("num_attention_heads", "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("intermediate_size");
    b.norm_eps = c.norm_eps("layer_norm_eps", 1e-5);
    b.activation = activation_of(c, "hidden_act", "gelu");
    b.attention_bias(c.flag("attention_bias", true));
    b.norm_place = c.flag("use_parallel_residual", true) ? NormPlace::parallel_two : NormPlace::pre;
    b.tied_head = c.flag("tie_word_embeddings", false);
    plan.encoding = rope_spec(c, plan, {.share = 0.25, .theta_key = "rotary_emb_base", .share_key = "rotary_pct"});
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "gpt_neox.embed_in"},
                      {"layers.#.attention_norm", "gpt_neox.layers.#.input_layernorm"},
                      {"layers.#.attention.qkv", "gpt_neox.layers.#.attention.query_key_value", Layout::by_head},
                      {"layers.#.attention.out", "gpt_neox.layers.#.attention.dense"},
                      {"layers.#.feed_forward_norm", "gpt_neox.layers.#.post_attention_layernorm"},
                      {"layers.#.feed_forward.in", "gpt_neox.layers.#.mlp.dense_h_to_4h"},
                      {"layers.#.feed_forward.out", "gpt_neox.layers.#.mlp.dense_4h_to_h"},
                      {"final_norm", "gpt_neox.final_layer_norm"},
                      {"head", "embed_out"},
                      {"head", "lm_head"}},
            .prefix = "gpt_neox.",
            .ignored = {".attention.bias", ".attention.masked_bias", "rotary_emb.inv_freq", "embed_out.weight"}};
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    plan.blueprint.norm_place = c.flag("use_parallel_residual", true) ? NormPlace::parallel_two : NormPlace::pre;
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace gptneox_file

const Architecture gptneox_architecture = {
    "gptneox",
    "GPT-NeoX, Pythia: attention and feed-forward side by side behind a LayerNorm each",
    gptneox_file::make,
    "rope:width=16,pairing=halves",
    {{"gpt_neox"}, gptneox_file::plan_of_config, gptneox_file::names},
    {{"gptneox"}, gptneox_file::plan_of_gguf}};

} // namespace ordo
