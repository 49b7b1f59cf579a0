// SPDX-License-Identifier: MIT
// Marian (Junczys-Dowmunt et al. 2018, arXiv 1804.00344) as OPUS-MT's translation models have it: the transformer of
// Vaswani et al. 2017, post-norm, waves of the position in halves, the embedding times sqrt(d_model), and a bias of the
// logits.
#include "models/catalog.h"

#include <cmath>

namespace ordo {
namespace {

Blueprint decoder() {
    Blueprint b;
    b.architecture = "marian";
    b.vocab_size = 58101;
    b.context = 512;
    b.n_layers = 6;
    b.d_model = 512;
    b.n_heads = 8;
    b.n_kv_heads = 8;
    b.d_head = 64;
    b.d_ff = 2048;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::post;
    b.activation = Activation::silu;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.final_norm = false; // every layer ends with one
    b.head_bias = true;
    b.embedding_scale = std::sqrt(512.0f);
    return b;
}

void add_encoder(Blueprint& b, const Blueprint& encoder) {
    b.encoder = {encoder};
    b.encoder.front().mask = Mask::bidirectional;
    b.cross_attention = true;
}

Blueprint make() {
    Blueprint b = decoder();
    add_encoder(b, b.like_this());
    return b;
}

// The sizes of one stack, whose keys begin with its name.
void read_stack(const Config& c, const std::string& stack, Blueprint& b) {
    b.n_layers = c.layers(stack + "_layers");
    b.n_heads = b.n_kv_heads = c.integer(stack + "_attention_heads");
    if (b.d_model % b.n_heads != 0) c.refuse(stack + "_attention_heads", "a divisor of d_model");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer(stack + "_ffn_dim");
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    if (!c.flag("share_encoder_decoder_embeddings", true))
        c.refuse("share_encoder_decoder_embeddings", "true, one vocabulary for both languages");
    c.only("static_position_embeddings", true);
    c.only("normalize_before", false);
    c.only("normalize_embedding", false);
    c.only("add_final_layer_norm", false);
    c.only("tie_word_embeddings", true);
    ModelPlan plan{decoder(), "sinusoidal:scale=1,layout=halves"};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    c.only("decoder_vocab_size", static_cast<double>(b.vocab_size));
    b.context = c.integer("max_position_embeddings");
    b.d_model = c.integer("d_model");
    b.activation = activation_of(c, "activation_function", "gelu");
    b.embedding_scale =
        c.flag("scale_embedding", false) ? static_cast<float>(std::sqrt(static_cast<double>(b.d_model))) : 1;
    Blueprint encoder = b;
    read_stack(c, "decoder", b);
    read_stack(c, "encoder", encoder);
    add_encoder(b, encoder);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "model.shared"},
                      {"embedding", "model.decoder.embed_tokens"},
                      {"encoder.layers.#.attention.q", "model.encoder.layers.#.self_attn.q_proj"},
                      {"encoder.layers.#.attention.k", "model.encoder.layers.#.self_attn.k_proj"},
                      {"encoder.layers.#.attention.v", "model.encoder.layers.#.self_attn.v_proj"},
                      {"encoder.layers.#.attention.out", "model.encoder.layers.#.self_attn.out_proj"},
                      {"encoder.layers.#.attention_norm", "model.encoder.layers.#.self_attn_layer_norm"},
                      {"encoder.layers.#.feed_forward.in", "model.encoder.layers.#.fc1"},
                      {"encoder.layers.#.feed_forward.out", "model.encoder.layers.#.fc2"},
                      {"encoder.layers.#.feed_forward_norm", "model.encoder.layers.#.final_layer_norm"},
                      {"layers.#.attention.q", "model.decoder.layers.#.self_attn.q_proj"},
                      {"layers.#.attention.k", "model.decoder.layers.#.self_attn.k_proj"},
                      {"layers.#.attention.v", "model.decoder.layers.#.self_attn.v_proj"},
                      {"layers.#.attention.out", "model.decoder.layers.#.self_attn.out_proj"},
                      {"layers.#.attention_norm", "model.decoder.layers.#.self_attn_layer_norm"},
                      {"layers.#.cross_attention.q", "model.decoder.layers.#.encoder_attn.q_proj"},
                      {"layers.#.cross_attention.k", "model.decoder.layers.#.encoder_attn.k_proj"},
                      {"layers.#.cross_attention.v", "model.decoder.layers.#.encoder_attn.v_proj"},
                      {"layers.#.cross_attention.out", "model.decoder.layers.#.encoder_attn.out_proj"},
                      {"layers.#.cross_attention_norm", "model.decoder.layers.#.encoder_attn_layer_norm"},
                      {"layers.#.feed_forward.in", "model.decoder.layers.#.fc1"},
                      {"layers.#.feed_forward.out", "model.decoder.layers.#.fc2"},
                      {"layers.#.feed_forward_norm", "model.decoder.layers.#.final_layer_norm"},
                      {"head.bias", "final_logits_bias"}},
            .prefix = "model.",
            .ignored = {"embed_positions.weight", "embed_tokens.weight", "lm_head.weight"}};
}

} // namespace

const Architecture marian_architecture = {"marian",
                                          "Marian: encoder and decoder, post-norm LayerNorm, SiLU, biases",
                                          make,
                                          "sinusoidal:scale=1,layout=halves",
                                          {{"marian"}, plan_of_config, names}};

} // namespace ordo
