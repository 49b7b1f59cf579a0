// SPDX-License-Identifier: MIT
// BART's shape (Lewis et al. 2019, arXiv 1910.13461), and its keys and names of tensors in transformers, which Marian,
// mBART and M2M100 share.
#include "formats/config_values.h"

#include <cmath>

namespace ordo {
namespace {

void add_encoder(Blueprint& b, const Blueprint& encoder) {
    b.encoder.clear();
    b.encoder.push_back(encoder);
    b.encoder.front().mask = Mask::bidirectional;
    b.cross_attention = true;
}

// The sizes of one stack, whose keys begin with its name.
void read_stack(const Config& c, const std::string& stack, Blueprint& b) {
    b.n_layers = c.layers(stack + "_layers");
    b.n_heads = b.n_kv_heads = c.integer(stack + "_attention_heads");
    if (b.d_model % b.n_heads != 0) c.refuse(stack + "_attention_heads", "a divisor of d_model");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer(stack + "_ffn_dim");
}

} // namespace

Blueprint bart_decoder() {
    Blueprint b;
    b.architecture = "bart";
    b.vocab_size = 50265;
    b.context = 1024;
    b.n_layers = 6;
    b.d_model = 768;
    b.n_heads = 12;
    b.n_kv_heads = 12;
    b.d_head = 64;
    b.d_ff = 3072;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::post;
    b.activation = Activation::gelu;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.embedding_norm = true;
    b.final_norm = false; // every layer ends with one
    b.head_bias = true;
    return b;
}

Blueprint with_like_encoder(Blueprint b) {
    add_encoder(b, b.like_this());
    return b;
}

void read_bart_sizes(const Config& c, bool scaled, Blueprint& b) {
    c.only("tie_word_embeddings", true);
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.d_model = c.integer("d_model");
    b.activation = activation_of(c, "activation_function", b.activation == Activation::relu ? "relu" : "gelu");
    b.embedding_scale =
        c.flag("scale_embedding", scaled) ? static_cast<float>(std::sqrt(static_cast<double>(b.d_model))) : 1;
    Blueprint encoder = b.like_this();
    read_stack(c, "decoder", b);
    read_stack(c, "encoder", encoder);
    add_encoder(b, encoder);
}

NameMap bart_names() {
    return {.rules = {{"embedding", "model.shared"},
                      {"embedding", "model.decoder.embed_tokens"},
                      {"encoder.encoding.learned", "model.encoder.embed_positions"},
                      {"encoder.embedding_norm", "model.encoder.layernorm_embedding"},
                      {"encoder.layers.#.attention.q", "model.encoder.layers.#.self_attn.q_proj"},
                      {"encoder.layers.#.attention.k", "model.encoder.layers.#.self_attn.k_proj"},
                      {"encoder.layers.#.attention.v", "model.encoder.layers.#.self_attn.v_proj"},
                      {"encoder.layers.#.attention.out", "model.encoder.layers.#.self_attn.out_proj"},
                      {"encoder.layers.#.attention_norm", "model.encoder.layers.#.self_attn_layer_norm"},
                      {"encoder.layers.#.feed_forward.in", "model.encoder.layers.#.fc1"},
                      {"encoder.layers.#.feed_forward.out", "model.encoder.layers.#.fc2"},
                      {"encoder.layers.#.feed_forward_norm", "model.encoder.layers.#.final_layer_norm"},
                      {"encoder.final_norm", "model.encoder.layer_norm"},
                      {"encoding.learned", "model.decoder.embed_positions"},
                      {"embedding_norm", "model.decoder.layernorm_embedding"},
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
                      {"final_norm", "model.decoder.layer_norm"},
                      {"head.bias", "final_logits_bias"}},
            .prefix = "model.",
            .ignored = {"embed_positions.weight", "embed_positions.weights", "embed_tokens.weight", "lm_head.weight"}};
}

} // namespace ordo
