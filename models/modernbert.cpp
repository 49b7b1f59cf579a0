// SPDX-License-Identifier: MIT
// ModernBERT (Warner et al. 2024, arXiv 2412.13663), base: every token sees every other in one layer of three, and its
// neighbours in the others. Rope of two thetas, pre-norm without biases, and no norm before the first attention.
#include "models/catalog.h"

namespace ordo {
namespace modernbert_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "modernbert";
    b.vocab_size = 50368;
    b.context = 8192;
    b.n_layers = 22;
    b.d_model = 768;
    b.n_heads = 12;
    b.n_kv_heads = 12;
    b.d_head = 64;
    b.d_ff = 1152;
    b.norm = Norm::layer;
    b.norm_eps = 1e-5f;
    b.activation = Activation::gelu;
    b.mask = Mask::bidirectional;
    b.embedding_norm = true;
    return b;
}

// The published class's defaults for missing keys.
constexpr std::string_view defaults = R"({"vocab_size": 50368, "hidden_size": 768, "intermediate_size": 1152,
    "num_hidden_layers": 22, "num_attention_heads": 12, "max_position_embeddings": 8192})";

void read_sizes(const Config& c, Blueprint& b) {
    b.vocab_size = c.integer("vocab_size");
    b.context = c.integer("max_position_embeddings");
    b.n_layers = c.layers("num_hidden_layers");
    b.d_model = c.integer("hidden_size");
    b.n_heads = b.n_kv_heads = c.integer("num_attention_heads");
    if (b.d_model % b.n_heads != 0) c.refuse("num_attention_heads", "a divisor of hidden_size");
    b.d_head = b.d_model / b.n_heads;
    b.d_ff = c.integer("intermediate_size");
    b.norm_eps = c.norm_eps("norm_eps", 1e-5);
    b.norm_bias = c.flag("norm_bias", false);
    b.attention_bias(c.flag("attention_bias", false));
    b.ffn_bias = c.flag("mlp_bias", false);
    b.activation = activation_of(c, "hidden_activation", "gelu");
}

ModelPlan plan_of_config(const Config& given, const TensorStore& tensors) {
    const Config c = given.with_defaults(defaults);
    c.only("tie_word_embeddings", true);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_sizes(c, b);
    const int every = c.integer("global_attn_every_n_layers", 3, 1, 1 << 10);
    const std::vector<bool> sliding = sliding_layers(c, b.n_layers, [&](int i) { return i % every != 0; });
    const int side = c.integer("local_attention", 128, 2, 1 << 22) / 2;
    std::vector<LayerPlan> layers(sliding.size(), b);
    for (std::size_t i = 0; i < layers.size(); ++i) layers[i].window = sliding[i] ? 2 * side + 1 : 0;
    layers.front().attention_norm = false;
    b.pattern = std::move(layers);
    const bool one_theta = c.mentions("local_rope_theta") && !c.has("local_rope_theta"); // null: the global one
    const std::string everywhere =
        rope_spec(c, plan, {.theta = 160000, .theta_key = "global_rope_theta", .layer_type = "full_attention"});
    const std::string near = rope_spec(c, plan,
                                       {.theta = one_theta ? 160000.0 : 10000.0,
                                        .theta_key = one_theta ? "global_rope_theta" : "local_rope_theta",
                                        .layer_type = "sliding_attention"});
    std::vector<std::string> specs;
    for (const bool slides : sliding) specs.push_back(slides ? near : everywhere);
    plan.encoding = pattern_of(specs);
    read_masked_head(plan, tensors.find("head.dense.weight") != nullptr);
    b.head_bias = b.head && c.flag("decoder_bias", true);
    if (b.head && c.flag("classifier_bias", false) != b.ffn_bias) c.refuse("classifier_bias", "the value of mlp_bias");
    if (b.head && activation_of(c, "classifier_activation", "gelu") != b.activation)
        c.refuse("classifier_activation", "the value of hidden_activation");
    return plan;
}

NameMap names(const ModelPlan&) {
    return {.rules = {{"embedding", "model.embeddings.tok_embeddings"},
                      {"embedding_norm", "model.embeddings.norm"},
                      {"layers.#.attention_norm", "model.layers.#.attn_norm"},
                      {"layers.#.attention.qkv", "model.layers.#.attn.Wqkv"},
                      {"layers.#.attention.out", "model.layers.#.attn.Wo"},
                      {"layers.#.feed_forward_norm", "model.layers.#.mlp_norm"},
                      {"layers.#.feed_forward.in", "model.layers.#.mlp.Wi"},
                      {"layers.#.feed_forward.out", "model.layers.#.mlp.Wo"},
                      {"final_norm", "model.final_norm"},
                      {"head_transform", "head.dense"},
                      {"head_norm", "head.norm"},
                      {"head.bias", "decoder.bias"}},
            .prefix = "model.",
            .ignored = {"decoder.weight"}};
}

} // namespace modernbert_file

const Architecture modernbert_architecture = {
    "modernbert",
    "ModernBERT: bidirectional, windows in two layers of three, rope of two thetas, gated GELU",
    modernbert_file::make,
    "rope",
    {{"modernbert"}, modernbert_file::plan_of_config, modernbert_file::names}};

} // namespace ordo
