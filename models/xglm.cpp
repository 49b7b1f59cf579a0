// SPDX-License-Identifier: MIT
// XGLM (Lin et al. 2021, arXiv 2112.10668), the size of 564 million parameters.
#include "models/catalog.h"

namespace ordo {
namespace xglm_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "xglm";
    b.vocab_size = 256008;
    b.context = 2048;
    b.n_layers = 24;
    b.d_model = 1024;
    b.n_heads = 16;
    b.n_kv_heads = 16;
    b.d_head = 64;
    b.d_ff = 4096;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::gelu;
    b.gated = false;
    b.ffn_bias = true;
    b.attention_bias(true);
    return b;
}

// Sines, then cosines, of positions from 2 on, frequencies over half the width less one: no tensor.
std::string sinusoids(bool scaled) {
    return std::string("sinusoidal:layout=halves,law=tensor2tensor,offset=2") + (scaled ? "" : ",scale=1");
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    ModelPlan plan{make(), sinusoids(c.flag("scale_embedding", true))};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers(c.first_of({"num_layers", "num_hidden_layers"}));
    b.d_model = c.integer(c.first_of({"d_model", "hidden_size"}));
    b.n_heads = b.n_kv_heads = c.integer(c.first_of({"attention_heads", "num_attention_heads"}));
    if (b.d_model % b.n_heads != 0) c.refuse("attention_heads", "a divisor of d_model");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("ffn_dim");
    b.activation = activation_of(c, "activation_function", "gelu");
    b.tied_head = c.flag("tie_word_embeddings", true);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "model.embed_tokens"},
                      {"layers.#.attention_norm", "model.layers.#.self_attn_layer_norm"},
                      {"layers.#.attention.q", "model.layers.#.self_attn.q_proj"},
                      {"layers.#.attention.k", "model.layers.#.self_attn.k_proj"},
                      {"layers.#.attention.v", "model.layers.#.self_attn.v_proj"},
                      {"layers.#.attention.out", "model.layers.#.self_attn.out_proj"},
                      {"layers.#.feed_forward_norm", "model.layers.#.final_layer_norm"},
                      {"layers.#.feed_forward.in", "model.layers.#.fc1"},
                      {"layers.#.feed_forward.out", "model.layers.#.fc2"},
                      {"final_norm", "model.layer_norm"},
                      {"head", "lm_head"}},
            .prefix = "model.",
            .ignored = {"embed_positions", "lm_head.weight"}};
}

} // namespace xglm_file

const Architecture xglm_architecture = {"xglm",
                                        "XGLM: pre-norm LayerNorm, GELU, biases, tied head",
                                        xglm_file::make,
                                        "sinusoidal:layout=halves,law=tensor2tensor,offset=2",
                                        {{"xglm"}, xglm_file::plan_of_config, xglm_file::names}};

} // namespace ordo
