// SPDX-License-Identifier: MIT
// GPT-2 (Radford et al. 2019), the size of 124 million parameters.
#include "models/catalog.h"

namespace ordo {
namespace gpt2_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "gpt2";
    b.vocab_size = 50257;
    b.context = 1024;
    b.n_layers = 12;
    b.d_model = 768;
    b.n_heads = 12;
    b.n_kv_heads = 12;
    b.d_head = 64;
    b.d_ff = 3072;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    c.only("scale_attn_by_inverse_layer_idx", false);
    ModelPlan plan{make(), "learned"};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer(c.first_of({"n_positions", "n_ctx"}));
    b.n_layers = c.layers("n_layer");
    b.d_model = c.integer("n_embd");
    b.n_heads = b.n_kv_heads = c.integer("n_head");
    if (b.d_model % b.n_heads != 0) c.refuse("n_head", "a divisor of n_embd");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("n_inner", 4 * b.d_model, 1, 1 << 20);
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-5);
    b.activation = activation_of(c, "activation_function", "gelu_new");
    b.score_scale = c.flag("scale_attn_weights", true) ? 0 : 1;
    b.tied_head = c.flag("tie_word_embeddings", true);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "transformer.wte"},
                      {"encoding.learned", "transformer.wpe"},
                      {"layers.#.attention_norm", "transformer.h.#.ln_1"},
                      {"layers.#.attention.qkv", "transformer.h.#.attn.c_attn", Layout::transposed},
                      {"layers.#.attention.out", "transformer.h.#.attn.c_proj", Layout::transposed},
                      {"layers.#.feed_forward_norm", "transformer.h.#.ln_2"},
                      {"layers.#.feed_forward.in", "transformer.h.#.mlp.c_fc", Layout::transposed},
                      {"layers.#.feed_forward.out", "transformer.h.#.mlp.c_proj", Layout::transposed},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .prefix = "transformer.",
            .ignored = {".attn.bias", ".attn.masked_bias", "lm_head.weight"}};
}

ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), "learned"};
    read_gguf_sizes(c, tensors, plan.blueprint);
    return plan;
}

} // namespace gpt2_file

const Architecture gpt2_architecture = {
    "gpt2",    "GPT-2: pre-norm LayerNorm, GELU (tanh), biases, tied head", gpt2_file::make,
    "learned", {{"gpt2"}, gpt2_file::plan_of_config, gpt2_file::names},     {{"gpt2"}, gpt2_file::plan_of_gguf}};

} // namespace ordo
