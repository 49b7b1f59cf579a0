// SPDX-License-Identifier: MIT
// Gemma 1, 2 and 3 (Gemma Team 2024, arXiv 2403.08295, 2408.00118; 2025, 2503.19786) and EmbeddingGemma. The shape is
// that of Gemma 2 at 2 billion parameters. For a Gemma 3 that also reads pictures, this is its text part.
#include "encoding/base/spec.h"
#include "models/catalog.h"

#include <cmath>

namespace ordo {
namespace gemma_file {

Blueprint make() {
    Blueprint b;
    b.architecture = "gemma";
    b.vocab_size = 256000;
    b.context = 8192;
    b.n_layers = 26;
    b.d_model = 2304;
    b.n_heads = 8;
    b.n_kv_heads = 4;
    b.d_head = 256;
    b.d_ff = 9216;
    b.norm_eps = 1e-6f;
    b.norm_place = NormPlace::sandwich;
    b.activation = Activation::gelu_tanh;
    b.attention_softcap = 50;
    b.final_softcap = 30;
    b.embedding_scale = 48;
    return b;
}

constexpr std::string_view second = "gemma2", third = "gemma3_text", with_pictures = "gemma3";

// The published classes' defaults for missing keys. Files with pictures omit nearly all keys.
constexpr std::string_view
    defaults1 = R"({"max_position_embeddings": 8192, "num_key_value_heads": 16})",
    defaults2 = R"({"max_position_embeddings": 8192, "num_key_value_heads": 4})",
    defaults3 = R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26,
                    "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 131072})";

// Rope of each layer. In Gemma 3, sliding layers have a theta of their own, and no scaling.
std::string encoding_of(const Config& c, ModelPlan& plan, const std::vector<bool>& sliding, bool two) {
    const std::string global =
        rope_spec(c, plan, {.theta = two ? 1e6 : 1e4, .layer_type = two ? "full_attention" : ""});
    if (!two) return global;
    const std::string local = rope_spec(
        c, plan, {.theta_key = "rope_local_base_freq", .old_scaling = false, .layer_type = "sliding_attention"});
    std::vector<std::string> specs;
    for (const bool slides : sliding) specs.push_back(slides ? local : global);
    return pattern_of(specs);
}

// A cap of null means none; a missing one has the family's default.
float cap(const Config& c, std::string_view key, double usual) {
    return static_cast<float>(c.mentions(key) && !c.has(key) ? 0 : c.number(key, usual, 0, 1e6));
}

float scale_of_width(const Blueprint& b) {
    return static_cast<float>(std::sqrt(static_cast<double>(b.d_model)));
}

void read_shape(const Config& c, Blueprint& b) {
    read_llama_sizes(c, b);
    b.d_head = c.integer("head_dim", 256, 1, 1024);
    // "gelu" in the first files always meant the tanh form, which is also the classes' default.
    const std::string_view activation = c.first_of({"hidden_activation", "hidden_act"});
    b.activation = c.text(activation, "gelu") == "gelu" ? Activation::gelu_tanh : activation_of(c, activation, "");
    b.attention_bias(c.flag("attention_bias", false));
    b.embedding_scale = scale_of_width(b);
    b.tied_head = c.flag("tie_word_embeddings", true);
}

// EmbeddingGemma (2025, arXiv 2509.20354): every token sees the others, and there is no head.
void make_encoder(Blueprint& b) {
    b.mask = Mask::bidirectional;
    b.head = false;
    b.tied_head = true;
}
// Its windows reach half as far on each side.
int window_in(const Blueprint& b, int window) {
    return b.mask == Mask::bidirectional && window != 0 ? window / 2 * 2 + 1 : window;
}

ModelPlan plan_of_config(const Config& given, const TensorStore&) {
    const bool pictures = given.text("model_type", "") == with_pictures;
    if (pictures && !given.has("text_config")) given.refuse("text_config", "an object");
    const Config inner = pictures ? *given.object("text_config") : given;
    const std::string type = pictures ? inner.text("model_type", third) : inner.text("model_type", "");
    if (pictures && type != third) inner.refuse("model_type", third);
    const Config c = inner.with_defaults(type == third ? defaults3 : type == second ? defaults2 : defaults1);
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    read_shape(c, b);
    if (type != third)
        c.only("use_bidirectional_attention", false);
    else if (c.flag("use_bidirectional_attention", false))
        make_encoder(b);
    b.attention_softcap = b.final_softcap = 0;
    b.norm_place = NormPlace::pre;
    std::vector<bool> sliding(static_cast<std::size_t>(b.n_layers), false);
    if (type == second || type == third) {
        b.norm_place = NormPlace::sandwich;
        b.score_scale = static_cast<float>(1 / std::sqrt(c.number("query_pre_attn_scalar", 256, 1e-3, 1e6)));
        b.attention_softcap = cap(c, "attn_logit_softcapping", type == second ? 50 : 0);
        b.final_softcap = cap(c, "final_logit_softcapping", type == second ? 30 : 0);
        b.qk_norm = type == third ? QkNorm::head : QkNorm::none;
        const int period = type == second ? 2 : c.integer("sliding_window_pattern", 6, 1, 1 << 10);
        sliding = sliding_layers(c, b.n_layers, [&](int i) { return (i + 1) % period != 0; });
        set_sliding(b, sliding, window_in(b, window_of(c, 4096)));
    }
    plan.encoding = encoding_of(c, plan, sliding, type == third);
    return plan;
}

NameMap names(const ModelPlan& plan) {
    NameMap map = llama_names();
    if (plan.blueprint.layer(0).norm_place == NormPlace::sandwich)
        map.rules.insert(map.rules.begin(),
                         {{"layers.#.attention_out_norm", "model.layers.#.post_attention_layernorm"},
                          {"layers.#.feed_forward_norm", "model.layers.#.pre_feedforward_layernorm"},
                          {"layers.#.feed_forward_out_norm", "model.layers.#.post_feedforward_layernorm"}});
    map.instead = {"language_model.model.", "model.language_model."};
    map.rules.push_back({"head", "language_model.lm_head"});
    for (const char* part : {"vision_tower.", "multi_modal_projector."}) map.ignored.emplace_back(part);
    for (NameRule& rule : map.rules)
        if (rule.ours.ends_with("norm")) rule.plus_one = true; // the file stores the weight minus one
    return map;
}

// Layers of Gemma 2 and 3 in a GGUF: every other one has a window, or five of six. In Gemma 3 these have a theta of
// their own, and no scaling.
void read_gguf_windows(const Config& c, ModelPlan& plan, bool two_thetas) {
    Blueprint& b = plan.blueprint;
    const int window = window_in(b, two_thetas ? b.window : c.integer("attention.sliding_window", 4096, 1, 1 << 30));
    std::vector<bool> sliding = gguf_sliding_layers(c, b.n_layers, two_thetas ? 6 : 2);
    if (window == 0) sliding.assign(sliding.size(), false);
    set_sliding(b, sliding, window);
    if (!two_thetas) return;
    SpecWriter local("rope");
    local("theta", c.number("rope.freq_base_swa", 10000, 1e-4, 1e12))("pairing", "halves");
    std::vector<std::string> specs;
    for (const bool slides : sliding) specs.push_back(slides ? local.text() : plan.encoding);
    plan.encoding = pattern_of(specs);
}

// The two dense layers behind the pooling, which the converter leaves out unless it is told otherwise.
void read_dense(const Config& c, const TensorStore& tensors, ModelPlan& plan) {
    for (const auto& [tensor, key] :
         {std::pair("dense_2.weight", "dense_2_feat_out"), {"dense_3.weight", "dense_3_feat_out"}}) {
        if (tensors.find(tensor))
            plan.blueprint.dense.push_back({.width = c.integer(key, plan.blueprint.d_model, 1, 65536)});
        else
            plan.warnings.push_back(std::string("expected the tensor ") + tensor + " of EmbeddingGemma, found none: " +
                                    "vectors differ from the model's (convert_hf_to_gguf.py "
                                    "--sentence-transformers-dense-modules writes it)");
    }
}

// The converter has added one to the norms. It has no key for the scale of scores. This follows from the head's width,
// except in the largest models, of 27 billion parameters: there it follows from the model's width divided by its heads.
ModelPlan plan_of_gguf(const Config& c, const TensorStore& tensors) {
    const bool encoder = c.prefix() == "gemma-embedding.";
    const bool second_one = c.prefix() == "gemma2.", third_one = encoder || c.prefix() == "gemma3.";
    ModelPlan plan{make(), {}};
    Blueprint& b = plan.blueprint;
    b.norm_place = second_one || third_one ? NormPlace::sandwich : NormPlace::pre;
    read_gguf_sizes(c, tensors, b);
    c.only("rope.dimension_count", static_cast<double>(b.d_head));
    b.embedding_scale = scale_of_width(b);
    if (encoder) {
        make_encoder(b);
        read_dense(c, tensors, plan);
    }
    if (second_one) {
        b.attention_softcap = static_cast<float>(c.number("attn_logit_softcapping", 50, 0, 1e6));
        b.final_softcap = static_cast<float>(c.number("final_logit_softcapping", 30, 0, 1e6));
    }
    const bool largest = (second_one && b.n_layers == 46) || (third_one && b.n_layers == 62);
    if (largest && b.score_scale == 0)
        b.score_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(b.d_model) / b.n_heads));
    plan.encoding = gguf_rope_spec(c, tensors, b, "halves");
    if (second_one || third_one) read_gguf_windows(c, plan, third_one);
    return plan;
}

} // namespace gemma_file

const Architecture gemma_architecture = {
    "gemma",
    "Gemma: sandwich norms, gated GELU (tanh), scaled embedding, soft caps, windows",
    gemma_file::make,
    "rope",
    {{"gemma", "gemma2", "gemma3_text", "gemma3"}, gemma_file::plan_of_config, gemma_file::names},
    {{"gemma", "gemma2", "gemma3", "gemma-embedding"},
     gemma_file::plan_of_gguf,
     {{"dense.0", "dense_2"}, {"dense.1", "dense_3"}}}};

} // namespace ordo
