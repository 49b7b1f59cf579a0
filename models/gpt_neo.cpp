// SPDX-License-Identifier: MIT
// GPT-Neo (Black et al. 2021), the size of 125 million parameters; TinyStories (Eldan and Li 2023, arXiv 2305.07759)
// has this shape.
#include "models/catalog.h"

namespace ordo {
namespace gpt_neo_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "gpt_neo";
    b.vocab_size = 50257;
    b.context = 2048;
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
    b.out_bias = true; // q, k and v have none
    b.ffn_bias = true;
    b.score_scale = 1; // not 1 / sqrt(d_head)
    return b;
}

// attention_types repeats lists of kinds of layers: [[["global", "local"], 6]] are twelve layers.
std::vector<std::string> repeated_kinds(const Config& c, int n_layers) {
    const auto wrong = [&] { c.refuse("attention_types", "lists of global and local, each with a number of repeats"); };
    std::vector<std::string> kinds;
    const JsonValue* const all = c.find("attention_types");
    if (all == nullptr || !all->array()) wrong();
    for (const JsonValue& item : *all->array()) {
        if (!item.array() || item.array()->size() != 2) wrong();
        const JsonValue::Array* const list = (*item.array())[0].array();
        const std::uint64_t* const times = (*item.array())[1].unsigned_integer();
        if (list == nullptr || list->empty() || times == nullptr) wrong();
        for (std::uint64_t i = 0; i < *times && kinds.size() <= static_cast<std::size_t>(n_layers); ++i)
            for (const JsonValue& kind : *list) {
                if (!kind.string()) wrong();
                kinds.push_back(*kind.string());
            }
    }
    return kinds;
}

// Whether each layer has a window.
std::vector<bool> local_layers(const Config& c, int n_layers) {
    const bool listed = c.has("attention_layers");
    const std::string_view key = listed ? "attention_layers" : "attention_types";
    const std::vector<std::string> kinds = listed ? c.texts(key) : repeated_kinds(c, n_layers);
    const std::string works = "global or local for each of " + std::to_string(n_layers) + " layers";
    if (kinds.size() != static_cast<std::size_t>(n_layers)) c.refuse(key, works);
    std::vector<bool> local;
    for (const std::string& kind : kinds) {
        if (kind != "global" && kind != "local") c.refuse(key, works);
        local.push_back(kind == "local");
    }
    return local;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"max_position_embeddings": 2048})";

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const Config c = given.with_defaults(defaults);
    ModelPlan plan{make(), "learned"};
    Blueprint& b = plan.blueprint;
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers(c.first_of({"num_layers", "num_hidden_layers"}));
    b.d_model = c.integer("hidden_size");
    const std::string_view heads = c.first_of({"num_heads", "num_attention_heads"});
    b.n_heads = b.n_kv_heads = c.integer(heads);
    if (b.d_model % b.n_heads != 0) c.refuse(heads, "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("intermediate_size", 4 * b.d_model, 1, 1 << 20);
    b.norm_eps = c.norm_eps("layer_norm_epsilon", 1e-5);
    b.activation = activation_of(c, "activation_function", "gelu_new");
    b.tied_head = c.flag("tie_word_embeddings", true);
    set_sliding(b, local_layers(c, b.n_layers), c.integer("window_size", 256, 1, 1 << 22));
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "transformer.wte"},
                      {"encoding.learned", "transformer.wpe"},
                      {"layers.#.attention_norm", "transformer.h.#.ln_1"},
                      {"layers.#.attention.q", "transformer.h.#.attn.attention.q_proj"},
                      {"layers.#.attention.k", "transformer.h.#.attn.attention.k_proj"},
                      {"layers.#.attention.v", "transformer.h.#.attn.attention.v_proj"},
                      {"layers.#.attention.out", "transformer.h.#.attn.attention.out_proj"},
                      {"layers.#.feed_forward_norm", "transformer.h.#.ln_2"},
                      {"layers.#.feed_forward.in", "transformer.h.#.mlp.c_fc"},
                      {"layers.#.feed_forward.out", "transformer.h.#.mlp.c_proj"},
                      {"final_norm", "transformer.ln_f"},
                      {"head", "lm_head"}},
            .prefix = "transformer.",
            .ignored = {".attn.attention.bias", ".attn.attention.masked_bias", "lm_head.weight"}};
}

} // namespace gpt_neo_file

const Architecture gpt_neo_architecture = {
    "gpt_neo",
    "GPT-Neo, TinyStories: GPT-2 without biases on q, k and v, scores not scaled, a window in every second layer",
    gpt_neo_file::make,
    "learned",
    {{"gpt_neo"}, gpt_neo_file::plan_of_config, gpt_neo_file::names}};

} // namespace ordo
