// SPDX-License-Identifier: MIT
// BLOOM (BigScience 2022, arXiv 2211.05100), the size of 560 million parameters.
#include "models/catalog.h"

namespace ordo {
namespace bloom_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "bloom";
    b.vocab_size = 250880;
    b.context = 2048;
    b.n_layers = 24;
    b.d_model = 1024;
    b.n_heads = 16;
    b.n_kv_heads = 16;
    b.d_head = 64;
    b.d_ff = 4096;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    b.embedding_norm = true;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    c.only("apply_residual_connection_post_layernorm", false);
    ModelPlan plan{make(), "alibi"};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("seq_length", 2048, 1, 1 << 22); // of its training; ALiBi has no limit
    b.n_layers = c.layers(c.first_of({"n_layer", "num_hidden_layers"}));
    b.d_model = c.integer(c.first_of({"hidden_size", "n_embed"}));
    const std::string_view heads = c.first_of({"n_head", "num_attention_heads"});
    b.n_heads = b.n_kv_heads = c.integer(heads);
    if (b.d_model % b.n_heads != 0) c.refuse(heads, "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("n_inner", 4 * b.d_model, 1, 1 << 20);
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-5);
    b.tied_head = c.flag("tie_word_embeddings", true);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "transformer.word_embeddings"},
                      {"embedding_norm", "transformer.word_embeddings_layernorm"},
                      {"layers.#.attention_norm", "transformer.h.#.input_layernorm"},
                      {"layers.#.attention.qkv", "transformer.h.#.self_attention.query_key_value", Layout::by_head},
                      {"layers.#.attention.out", "transformer.h.#.self_attention.dense"},
                      {"layers.#.feed_forward_norm", "transformer.h.#.post_attention_layernorm"},
                      {"layers.#.feed_forward.in", "transformer.h.#.mlp.dense_h_to_4h"},
                      {"layers.#.feed_forward.out", "transformer.h.#.mlp.dense_4h_to_h"},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .prefix = "transformer.",
            .ignored = {"lm_head.weight"}};
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), "alibi"};
    read_gguf_sizes(c, tensors, plan.blueprint);
    return plan;
}

} // namespace bloom_file

const Architecture bloom_architecture = {"bloom",
                                         "BLOOM: LayerNorm, also after the embedding, GELU (tanh), biases, tied head",
                                         bloom_file::make,
                                         "alibi",
                                         {{"bloom"}, bloom_file::plan_of_config, bloom_file::names},
                                         {{"bloom"}, bloom_file::plan_of_gguf}};

} // namespace ordo
