// SPDX-License-Identifier: MIT
// Nomic Embed's BERT (Nussbaum et al. 2024, arXiv 2402.01613): post-norm as BERT, with rope, a gated SiLU and no
// biases. Its files have the keys of GPT-2.
#include "models/catalog.h"

namespace ordo {
namespace nomic_bert_file {

Blueprint make() {
    Blueprint b = bert_blueprint();
    b.architecture = "nomic_bert";
    b.vocab_size = 30528;
    b.context = 2048;
    b.activation = Activation::silu;
    b.gated = true;
    b.attention_bias(false);
    b.ffn_bias = false;
    return b;
}

// The features of the class that no published file of the family uses.
void refuse_others(const Config& c) {
    for (const char* key : {"prenorm", "parallel_block", "causal", "use_rms_norm", "scale_attn_by_inverse_layer_idx"})
        c.only(key, false);
    c.only("scale_attn_weights", true);
    for (const char* key : {"rotary_emb_scale_base", "rotary_scaling_factor", "num_experts"}) c.absent(key);
}

ModelPlan plan_of_config(const Config& c, const TensorStore& tensors) {
    refuse_others(c);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("n_positions");
    b.n_layers = c.layers("n_layer");
    b.d_model = c.integer("n_embd");
    b.n_heads = b.n_kv_heads = c.integer("n_head");
    if (b.d_model % b.n_heads != 0) c.refuse("n_head", "a divisor of n_embd");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("n_inner");
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-12);
    c.only("activation_function", "swiglu");
    b.q_bias = b.k_bias = b.v_bias = c.flag("qkv_proj_bias", true);
    b.out_bias = b.q_bias;
    b.ffn_bias = c.flag("mlp_fc1_bias", true);
    if (c.flag("mlp_fc2_bias", true) != b.ffn_bias) c.refuse("mlp_fc2_bias", "the value of mlp_fc1_bias");
    const bool adjacent = c.flag("rotary_emb_interleaved", false);
    const std::string rope = rope_spec(c, plan,
                                       {.theta_key = "rotary_emb_base",
                                        .share_key = "rotary_emb_fraction",
                                        .pairing = adjacent ? "adjacent" : "halves",
                                        .old_scaling = false});
    const int segments = c.integer("type_vocab_size", 2, 0, 1 << 16);
    plan.encoding = segments == 0 ? rope : "segment:count=" + std::to_string(segments) + "+" + rope;
    c.only("tie_word_embeddings", true);
    read_masked_head(plan, tensors.find("cls.predictions.transform.dense.weight") != nullptr);
    b.head_bias = b.head && b.ffn_bias;
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "bert.embeddings.word_embeddings"},
                      {"encoding.segment", "bert.embeddings.token_type_embeddings"},
                      {"embedding_norm", "bert.emb_ln"},
                      {"layers.#.attention.qkv", "bert.encoder.layers.#.attn.Wqkv"},
                      {"layers.#.attention.out", "bert.encoder.layers.#.attn.out_proj"},
                      {"layers.#.attention_norm", "bert.encoder.layers.#.norm1"},
                      {"layers.#.feed_forward.up", "bert.encoder.layers.#.mlp.fc11"},
                      {"layers.#.feed_forward.gate", "bert.encoder.layers.#.mlp.fc12"},
                      {"layers.#.feed_forward.out", "bert.encoder.layers.#.mlp.fc2"},
                      {"layers.#.feed_forward_norm", "bert.encoder.layers.#.norm2"},
                      {"head_transform", "cls.predictions.transform.dense"},
                      {"head_norm", "cls.predictions.transform.layer_norm"},
                      {"head.bias", "cls.predictions.decoder.bias"}},
            .prefix = "bert.",
            .ignored = {"position_ids", "pooler.", "cls.predictions.decoder."}};
}

} // namespace nomic_bert_file

const Architecture nomic_bert_architecture = {
    "nomic_bert",
    "Nomic BERT: BERT with rope, gated SiLU, without biases",
    nomic_bert_file::make,
    "segment+rope:pairing=halves",
    {{"nomic_bert"}, nomic_bert_file::plan_of_config, nomic_bert_file::names}};

} // namespace ordo
