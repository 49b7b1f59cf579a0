// SPDX-License-Identifier: MIT
// GPT-J (Wang and Komatsuzaki 2021) at 6 billion parameters.
#include "models/catalog.h"

#include <algorithm>

namespace ordo {
namespace gptj_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "gptj";
    b.vocab_size = 50400;
    b.context = 2048;
    b.n_layers = 28;
    b.d_model = 4096;
    b.n_heads = 16;
    b.n_kv_heads = 16;
    b.d_head = 256;
    b.d_ff = 16384;
    b.norm = Norm::layer;
    b.norm_bias = true;
    b.norm_place = NormPlace::parallel;
    b.activation = Activation::gelu_tanh;
    b.gated = false;
    b.ffn_bias = true;
    b.tied_head = false;
    b.head_bias = true;
    return b;
}

ModelPlan plan_of_config(const Config& c, const TensorStore&) {
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("n_positions");
    b.n_layers = c.layers("n_layer");
    b.d_model = c.integer("n_embd");
    b.n_heads = b.n_kv_heads = c.integer("n_head");
    if (b.d_model % b.n_heads != 0) c.refuse("n_head", "a divisor of n_embd");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("n_inner", 4 * b.d_model, 1, 1 << 20);
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-5);
    b.activation = activation_of(c, "activation_function", "gelu_new");
    b.tied_head = c.flag("tie_word_embeddings", false);
    const int usual = c.mentions("rotary_dim") ? b.d_head : std::min(64, b.d_head); // null: the whole head turns
    const int width = c.integer("rotary_dim", usual, 2, b.d_head);
    if (width % 2 != 0) c.refuse(c.has("rotary_dim") ? "rotary_dim" : "n_head", "an even number of columns that turn");
    plan.encoding = "rope:pairing=adjacent,width=" + std::to_string(width);
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "transformer.wte"},
                      {"layers.#.attention_norm", "transformer.h.#.ln_1"},
                      {"layers.#.attention.q", "transformer.h.#.attn.q_proj"},
                      {"layers.#.attention.k", "transformer.h.#.attn.k_proj"},
                      {"layers.#.attention.v", "transformer.h.#.attn.v_proj"},
                      {"layers.#.attention.out", "transformer.h.#.attn.out_proj"},
                      {"layers.#.feed_forward.in", "transformer.h.#.mlp.fc_in"},
                      {"layers.#.feed_forward.out", "transformer.h.#.mlp.fc_out"},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .prefix = "transformer.",
            .ignored = {".attn.bias", ".attn.masked_bias", ".attn.embed_positions"}};
}

} // namespace gptj_file

const Architecture gptj_architecture = {"gptj",
                                        "GPT-J: attention and feed-forward side by side behind one LayerNorm",
                                        gptj_file::make,
                                        "rope:width=64",
                                        {{"gptj"}, gptj_file::plan_of_config, gptj_file::names, {"gptj"}}};

} // namespace ordo
