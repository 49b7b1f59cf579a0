// SPDX-License-Identifier: MIT
// MPT (MosaicML 2023) at 7 billion parameters.
#include "encoding/base/spec.h"
#include "models/catalog.h"

namespace ordo {
namespace mpt_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "mpt";
    b.vocab_size = 50432;
    b.context = 2048;
    b.n_layers = 32;
    b.d_model = 4096;
    b.n_heads = 32;
    b.n_kv_heads = 32;
    b.d_head = 128;
    b.d_ff = 16384;
    b.norm = Norm::layer;
    b.activation = Activation::gelu;
    b.gated = false;
    return b;
}

// Checks the parts of attn_config besides ALiBi. llm-foundry's files have more keys than transformers reads.
void check_attention(const Config& c) {
    c.only("attn_type", "multihead_attention");
    for (const char* key : {"qk_ln", "qk_gn", "prefix_lm", "rope"}) c.only(key, false);
    c.only("sliding_window_size", -1.0);
    c.absent("attn_logit_softcapping");
}

void check_feed_forward(const Config& c) {
    c.only("ffn_type", "mptmlp");
    c.absent("ffn_hidden_size");
    const std::optional<Config> activation = c.object("ffn_act_fn");
    if (!activation) return;
    activation->only("name", "gelu");
    activation->only("approximate", "none");
}

// llm-foundry's names. The two kinds differ only in the precision of their computation.
void check_norms(const Config& c) {
    const std::string type = c.text("norm_type", "layernorm");
    if (type != "layernorm" && type != "low_precision_layernorm")
        c.refuse("norm_type", "layernorm or low_precision_layernorm");
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    c.only("no_bias", true);
    c.only("embedding_fraction", 1.0);
    for (const char* key : {"logit_scale", "final_logit_softcapping", "block_overrides"}) c.absent(key);
    check_norms(c);
    if (const std::optional<Config> ffn = c.object("ffn_config")) check_feed_forward(*ffn);
    ModelPlan plan{make(), "alibi"};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_seq_len");
    b.n_layers = c.layers("n_layers");
    b.d_model = c.integer("d_model");
    b.n_heads = b.n_kv_heads = c.integer("n_heads");
    if (b.d_model % b.n_heads != 0) c.refuse("n_heads", "a divisor of d_model");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = b.d_model * c.integer("expansion_ratio", 4, 1, 16);
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-5);
    b.tied_head = c.flag("tie_word_embeddings", true);
    const std::optional<Config> attention = c.object("attn_config");
    if (!attention) return plan;
    check_attention(*attention);
    b.score_scale = static_cast<float>(attention->number("softmax_scale", 0, 0, 1e6));
    b.qkv_clip = static_cast<float>(attention->number("clip_qkv", 0, 0, 1e6));
    if (attention->flag("alibi", true))
        plan.encoding = "alibi:max=" + decimal(attention->number("alibi_bias_max", 8, 0, 64));
    else
        plan.encoding = c.flag("learned_pos_emb", true) ? "learned" : "none";
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "transformer.wte"},
                      {"encoding.learned", "transformer.wpe"},
                      {"layers.#.attention_norm", "transformer.blocks.#.norm_1"},
                      {"layers.#.attention.qkv", "transformer.blocks.#.attn.Wqkv"},
                      {"layers.#.attention.out", "transformer.blocks.#.attn.out_proj"},
                      {"layers.#.feed_forward_norm", "transformer.blocks.#.norm_2"},
                      {"layers.#.feed_forward.in", "transformer.blocks.#.ffn.up_proj"},
                      {"layers.#.feed_forward.out", "transformer.blocks.#.ffn.down_proj"},
                      {"final_norm", "transformer.norm_f"},
                      {"head", "lm_head"}},
            .prefix = "transformer.",
            .ignored = {"lm_head.weight"}};
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), "learned"};
    read_gguf_sizes(c, tensors, plan.blueprint);
    const double max = c.number("attention.max_alibi_bias", 0, 0, 64);
    if (max != 0) plan.encoding = "alibi:max=" + decimal(max);
    return plan;
}

} // namespace mpt_file

const Architecture mpt_architecture = {
    "mpt",   "MPT: LayerNorm without bias, GELU, no biases, tied head", mpt_file::make,
    "alibi", {{"mpt"}, mpt_file::plan_of_config, mpt_file::names},      {{"mpt"}, mpt_file::plan_of_gguf}};

} // namespace ordo
