// SPDX-License-Identifier: MIT
// GPT-BigCode: SantaCoder (Ben Allal et al. 2023, arXiv 2301.03988) and StarCoder (Li et al. 2023, arXiv 2305.06161),
// whose size of 15.5 billion parameters this is.
#include "models/catalog.h"

namespace ordo {
namespace gpt_bigcode_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "gpt_bigcode";
    b.vocab_size = 49152;
    b.context = 8192;
    b.n_layers = 40;
    b.d_model = 6144;
    b.n_heads = 48;
    b.n_kv_heads = 1;
    b.d_head = 128;
    b.d_ff = 24576;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.attention_bias(true);
    b.ffn_bias = true;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    ModelPlan plan{make(), "learned"};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("n_positions");
    b.n_layers = c.layers("n_layer");
    b.d_model = c.integer("n_embd");
    b.n_heads = c.integer("n_head");
    b.n_kv_heads = c.flag("multi_query", true) ? 1 : b.n_heads;
    if (b.d_model % b.n_heads != 0) c.refuse("n_head", "a divisor of n_embd");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("n_inner", 4 * b.d_model, 1, 1 << 20);
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-5);
    b.activation = activation_of(c, "activation_function", "gelu_pytorch_tanh");
    b.score_scale = c.flag("scale_attn_weights", true) ? 0 : 1;
    b.tied_head = c.flag("tie_word_embeddings", true);
    return plan;
}

// With one key head: all queries, the key, the value. With many: those of each head in turn.
NameMap names(const ModelPlan& plan) {
    const Layout qkv = plan.blueprint.n_kv_heads == 1 ? Layout::whole : Layout::by_head;
    return {.rules = {{"embedding", "transformer.wte"},
                      {"encoding.learned", "transformer.wpe"},
                      {"layers.#.attention_norm", "transformer.h.#.ln_1"},
                      {"layers.#.attention.qkv", "transformer.h.#.attn.c_attn", qkv},
                      {"layers.#.attention.out", "transformer.h.#.attn.c_proj"},
                      {"layers.#.feed_forward_norm", "transformer.h.#.ln_2"},
                      {"layers.#.feed_forward.in", "transformer.h.#.mlp.c_fc"},
                      {"layers.#.feed_forward.out", "transformer.h.#.mlp.c_proj"},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .prefix = "transformer.",
            .ignored = {".attn.bias", ".attn.masked_bias", "lm_head.weight"}};
}

// llama.cpp's converter supports only models with one key head.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    ModelPlan plan{make(), "learned"};
    read_gguf_sizes(c, tensors, plan.blueprint);
    return plan;
}

} // namespace gpt_bigcode_file

const Architecture gpt_bigcode_architecture = {
    "gpt_bigcode",
    "GPT-BigCode (StarCoder 1): GPT-2 with one head of keys and values for all of queries",
    gpt_bigcode_file::make,
    "learned",
    {{"gpt_bigcode"}, gpt_bigcode_file::plan_of_config, gpt_bigcode_file::names},
    {{"starcoder"}, gpt_bigcode_file::plan_of_gguf}};

} // namespace ordo
