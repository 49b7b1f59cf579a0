// SPDX-License-Identifier: MIT
// OPT (Zhang et al. 2022, arXiv 2205.01068), the size of 125 million parameters.
#include "models/catalog.h"

namespace ordo {
namespace opt_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "opt";
    b.vocab_size = 50272;
    b.context = 2048;
    b.n_layers = 12;
    b.d_model = 768;
    b.n_heads = 12;
    b.n_kv_heads = 12;
    b.d_head = 64;
    b.d_ff = 3072;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::relu;
    b.gated = false;
    b.ffn_bias = true;
    b.attention_bias(true);
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    ModelPlan plan{make(), "learned:offset=2"}; // rows 0 and 1 are for padding, and are never read
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers("num_hidden_layers");
    b.d_model = c.integer("hidden_size");
    const int width = c.integer("word_embed_proj_dim", b.d_model, 1, b.d_model); // 350m's embedding is narrower
    if (width != b.d_model) b.embedding_width = width;
    c.only("layer_norm_elementwise_affine", true);
    c.only("_remove_final_layer_norm", false);
    b.n_heads = b.n_kv_heads = c.integer("num_attention_heads");
    if (b.d_model % b.n_heads != 0) c.refuse("num_attention_heads", "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("ffn_dim");
    b.activation = activation_of(c, "activation_function", "relu");
    b.attention_bias(c.flag("enable_bias", true));
    b.ffn_bias = c.flag("enable_bias", true);
    b.tied_head = c.flag("tie_word_embeddings", true);
    b.final_norm = c.flag("do_layer_norm_before", true);
    if (!b.final_norm) b.norm_place = NormPlace::post;
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "model.decoder.embed_tokens"},
                      {"embedding_projection", "model.decoder.project_in"},
                      {"encoding.learned", "model.decoder.embed_positions"},
                      {"layers.#.attention_norm", "model.decoder.layers.#.self_attn_layer_norm"},
                      {"layers.#.attention.q", "model.decoder.layers.#.self_attn.q_proj"},
                      {"layers.#.attention.k", "model.decoder.layers.#.self_attn.k_proj"},
                      {"layers.#.attention.v", "model.decoder.layers.#.self_attn.v_proj"},
                      {"layers.#.attention.out", "model.decoder.layers.#.self_attn.out_proj"},
                      {"layers.#.feed_forward_norm", "model.decoder.layers.#.final_layer_norm"},
                      {"layers.#.feed_forward.in", "model.decoder.layers.#.fc1"},
                      {"layers.#.feed_forward.out", "model.decoder.layers.#.fc2"},
                      {"final_norm", "model.decoder.final_layer_norm"},
                      {"head_projection", "model.decoder.project_out"},
                      {"head", "lm_head"}},
            .prefix = "model.",
            .ignored = {"lm_head.weight"}};
}

} // namespace opt_file

const Architecture opt_architecture = {"opt",
                                       "OPT: pre-norm LayerNorm, ReLU, biases, tied head",
                                       opt_file::make,
                                       "learned:offset=2",
                                       {{"opt"}, opt_file::plan_of_config, opt_file::names}};

} // namespace ordo
