// SPDX-License-Identifier: MIT
// Falcon (Almazrouei et al. 2023, arXiv 2311.16867), the size of 7 billion parameters.
#include "encoding/base/spec.h"
#include "models/catalog.h"

#include <cmath>

namespace ordo {
namespace falcon_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "falcon";
    b.vocab_size = 65024;
    b.context = 2048;
    b.n_layers = 32;
    b.d_model = 4544;
    b.n_heads = 71;
    b.n_kv_heads = 1;
    b.d_head = 64;
    b.d_ff = 18176;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::parallel;
    b.activation = Activation::gelu;
    b.gated = false;
    return b;
}

// Whether layers are those of the larger models. Files under the old names (RefinedWeb) have no key for it, but two
// norms.
bool is_new(const Config& c, const TensorStore& tensors) {
    const bool two = tensors.find("transformer.h.0.ln_attn.weight") != nullptr;
    return c.flag("new_decoder_architecture", two && c.text("model_type", "") != "falcon");
}

// The number of key heads: one for all queries, one for each, or groups.
int kv_heads(const Config& c, int n_heads, bool is_new) {
    if (is_new) {
        const std::string_view key = c.first_of({"num_kv_heads", "n_head_kv"});
        const int groups = c.integer(key, n_heads, 1, n_heads);
        if (n_heads % groups != 0) c.refuse(key, "a divisor of the heads of queries");
        return groups;
    }
    return c.flag("multi_query", true) ? 1 : n_heads;
}

// Checks multi_query against the shapes of the tensors.
void check_heads(const Config& c, const TensorStore& tensors, const Blueprint& b, bool is_new) {
    const FileTensor* found = nullptr;
    for (const char* prefix : {"transformer.", ""})
        if (found == nullptr) found = tensors.find(std::string(prefix) + "h.0.self_attention.query_key_value.weight");
    if (found == nullptr || b.n_heads == 1 || is_new) return;
    const std::int64_t one = std::int64_t{b.n_heads + 2} * b.d_head, all = std::int64_t{3} * b.n_heads * b.d_head;
    if (b.n_kv_heads == 1 && found->rows() == all) c.refuse("multi_query", "false, as the tensors have it");
    if (b.n_kv_heads != 1 && found->rows() == one) c.refuse("multi_query", "true, as the tensors have it");
}

// ALiBi's bias is scaled with the scores here: (q.k + bias) / sqrt(d_head).
std::string encoding_of(const Config& c, ModelPlan& plan) {
    if (!c.flag("alibi", false)) return rope_spec(c, plan);
    return "alibi:scale=" + decimal(1 / std::sqrt(static_cast<double>(plan.blueprint.d_head)));
}

NormPlace norm_place(const Config& c, bool is_new) {
    if (!c.flag("parallel_attn", true)) return NormPlace::pre;
    const int norms = c.integer("num_ln_in_parallel_attn", is_new ? 2 : 1, 1, 2);
    return norms == 2 ? NormPlace::parallel_two : NormPlace::parallel;
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    c.only("apply_residual_connection_post_layernorm", false);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings", 2048, 1, 1 << 22);
    b.n_layers = c.layers(c.first_of({"num_hidden_layers", "n_layer"}));
    b.d_model = c.integer(c.first_of({"n_embed", "hidden_size"}));
    const std::string_view heads = c.first_of({"num_attention_heads", "n_head"});
    b.n_heads = c.integer(heads);
    if (b.d_model % b.n_heads != 0) c.refuse(heads, "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    const bool larger = is_new(c, tensors);
    b.n_kv_heads = kv_heads(c, b.n_heads, larger);
    check_heads(c, tensors, b, larger);
    b.d_ff = c.integer("ffn_hidden_size", c.integer("ff_factor", 4, 1, 64) * b.d_model, 1, 1 << 20);
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-5);
    b.norm_place = norm_place(c, larger);
    b.activation = activation_of(c, "activation", "gelu");
    b.attention_bias(c.flag("bias", false));
    b.ffn_bias = c.flag("bias", false);
    b.tied_head = c.flag("tie_word_embeddings", true);
    plan.encoding = encoding_of(c, plan);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "transformer.word_embeddings"},
                      {"layers.#.attention_norm", "transformer.h.#.ln_attn"},
                      {"layers.#.attention_norm", "transformer.h.#.input_layernorm"},
                      {"layers.#.attention.qkv", "transformer.h.#.self_attention.query_key_value", Layout::by_head},
                      {"layers.#.attention.out", "transformer.h.#.self_attention.dense"},
                      {"layers.#.feed_forward_norm", "transformer.h.#.ln_mlp"},
                      {"layers.#.feed_forward_norm", "transformer.h.#.post_attention_layernorm"},
                      {"layers.#.feed_forward.in", "transformer.h.#.mlp.dense_h_to_4h"},
                      {"layers.#.feed_forward.out", "transformer.h.#.mlp.dense_4h_to_h"},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .prefix = "transformer.",
            .ignored = {"rotary_emb.inv_freq", "lm_head.weight"}};
}

// llama.cpp's name for attention's own norm, in the larger models, has a number.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), {}};
    read_gguf_sizes(c, tensors, plan.blueprint);
    const bool two = tensors.find("blk.0.attn_norm_2.weight") != nullptr;
    plan.blueprint.norm_place = two ? NormPlace::parallel_two : NormPlace::parallel;
    plan.encoding = gguf_rope_spec(c, tensors, plan.blueprint, "halves");
    return plan;
}

} // namespace falcon_file

const Architecture falcon_architecture = {
    "falcon",
    "Falcon: attention and feed-forward side by side, one head of keys, GELU",
    falcon_file::make,
    "rope",
    {{"falcon", "RefinedWeb", "RefinedWebModel"}, falcon_file::plan_of_config, falcon_file::names},
    {{"falcon"},
     falcon_file::plan_of_gguf,
     {{"layers.#.attention_norm", "blk.#.attn_norm_2"},
      {"layers.#.attention_norm", "blk.#.attn_norm"},
      {"layers.#.feed_forward_norm", "blk.#.attn_norm"}}}};

} // namespace ordo
