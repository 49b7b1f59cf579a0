// SPDX-License-Identifier: MIT
// Llama's keys and tensor names in transformers, which its many relatives share.
#include "formats/config_values.h"

namespace ordo {

void read_llama_sizes(const Config& c, Blueprint& b) {
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers("num_hidden_layers");
    b.d_model = c.integer("hidden_size");
    b.n_heads = c.integer("num_attention_heads");
    b.n_kv_heads = c.integer("num_key_value_heads", b.n_heads, 1, b.n_heads);
    if (b.n_heads % b.n_kv_heads != 0) c.refuse("num_key_value_heads", "a divisor of num_attention_heads");
    if (!c.has("head_dim") && b.d_model % b.n_heads != 0)
        c.refuse("num_attention_heads", "a divisor of hidden_size, or head_dim beside it");
    b.d_head = c.integer("head_dim", b.d_model / b.n_heads, 1, 1024);
    b.d_ff = c.integer("intermediate_size");
    b.norm_eps = c.norm_eps("rms_norm_eps", 1e-6);
    b.activation = activation_of(c, c.first_of({"hidden_act", "hidden_activation"}), "silu");
    // transformers creates the mask of all these decoders, and no mask if this is false.
    if (!c.flag("is_causal", true)) b.mask = Mask::bidirectional;
}

int window_of(const Config& c, int usual) {
    return c.mentions("sliding_window") && !c.has("sliding_window") ? 0
                                                                    : c.integer("sliding_window", usual, 1, 1 << 22);
}

void set_windows(const Config& c, Blueprint& b, int usual, const std::function<bool(int)>& fallback) {
    const std::vector<bool> sliding = sliding_layers(c, b.n_layers, fallback);
    if (!c.flag("use_sliding_window", false)) return; // for any sliding_window
    if (const int window = window_of(c, usual); window != 0) set_sliding(b, sliding, window);
}

NameMap llama_names() {
    return {.rules = {{"embedding", "model.embed_tokens"},
                      {"layers.#.attention_norm", "model.layers.#.input_layernorm"},
                      {"layers.#.attention.q", "model.layers.#.self_attn.q_proj"},
                      {"layers.#.attention.k", "model.layers.#.self_attn.k_proj"},
                      {"layers.#.attention.v", "model.layers.#.self_attn.v_proj"},
                      {"layers.#.attention.q_norm", "model.layers.#.self_attn.q_norm"},
                      {"layers.#.attention.k_norm", "model.layers.#.self_attn.k_norm"},
                      {"layers.#.attention.out", "model.layers.#.self_attn.o_proj"},
                      {"layers.#.feed_forward_norm", "model.layers.#.post_attention_layernorm"},
                      {"layers.#.feed_forward.gate", "model.layers.#.mlp.gate_proj"},
                      {"layers.#.feed_forward.up", "model.layers.#.mlp.up_proj"},
                      {"layers.#.feed_forward.out", "model.layers.#.mlp.down_proj"},
                      {"final_norm", "model.norm"},
                      {"head", "lm_head"}},
            .prefix = "model.",
            .ignored = {"rotary_emb.inv_freq", "lm_head.weight"}};
}

} // namespace ordo
