// SPDX-License-Identifier: MIT
// The plans of layers whose gradients are tested.
#pragma once

#include "tests/model/small_models.h"

#include <functional>

namespace ordo::train {

// Each choice of a layer's plan that no registered architecture uses, on its own.
inline std::vector<std::pair<std::string, Blueprint>> plans(const Blueprint& b) {
    std::vector<std::pair<std::string, Blueprint>> out;
    const auto with = [&](const std::string& name, const std::function<void(Blueprint&)>& change) {
        out.emplace_back(name, b);
        change(out.back().second);
    };
    with("sandwich norms", [](Blueprint& p) { p.norm_place = NormPlace::sandwich; });
    with("norms after branches", [](Blueprint& p) { p.norm_place = NormPlace::after; });
    with("parallel, two norms", [](Blueprint& p) { p.norm_place = NormPlace::parallel_two; });
    with("norms of heads", [](Blueprint& p) { p.qk_norm = QkNorm::head; });
    with("norms of queries and keys", [](Blueprint& p) { p.qk_norm = QkNorm::width; });
    with("clipped queries, keys and values", [](Blueprint& p) { p.qkv_clip = 0.5f; });
    with("clipped and normalised", [](Blueprint& p) { p.qkv_clip = 0.5f, p.qk_norm = QkNorm::head; });
    with("LayerNorm without bias", [](Blueprint& p) { p.norm = Norm::layer; });
    with("biases of q and v", [](Blueprint& p) { p.q_bias = p.v_bias = true; });
    with("bias of the output", [](Blueprint& p) { p.out_bias = true; });
    with("bias of the head", [](Blueprint& p) { p.head_bias = true; });
    with("caps", [](Blueprint& p) { p.attention_softcap = 2, p.final_softcap = 3; });
    with("a score scale", [](Blueprint& p) { p.score_scale = 1; });
    with("a head scale", [](Blueprint& p) { p.head_scale = 3; });
    with("a transform before the head", [](Blueprint& p) {
        p.head_transform = true, p.head_scale = 0.5f;
        p.activation = Activation::gelu, p.gated = false;
        p.norm = Norm::layer, p.norm_bias = true;
    });
    for (const bool gated : {false, true})
        with(gated ? "squared ReLU, gated" : "squared ReLU",
             [=](Blueprint& p) { p.activation = Activation::relu2, p.gated = gated; });
    with("a narrow embedding", [](Blueprint& p) { p.embedding_width = 9, p.head_scale = 0.5f; });
    with("a narrow embedding, a norm and a transform inside", [](Blueprint& p) {
        p.embedding_width = 9, p.projected_embedding = p.embedding_norm = p.head_transform = true;
        p.norm = Norm::layer, p.norm_bias = p.ffn_bias = true, p.gated = false;
    });
    with("layers of the same weights", [](Blueprint& p) { p.distinct_layers = 1; });
    with("experts", [](Blueprint& p) { p.experts = 3, p.experts_used = 2; });
    with("experts, plain and biased", [](Blueprint& p) {
        p.experts = 4, p.experts_used = 3; // each expert has rows
        p.experts_renormalised = p.gated = false;
        p.ffn_bias = true;
    });
    with("experts, one of them shared", [](Blueprint& p) { p.experts = 3, p.experts_used = 2, p.shared_expert = 11; });
    with("experts, one of them shared, in some layers, behind norms", [](Blueprint& p) {
        p.pattern = {p, p};
        p.pattern[0].norm_place = NormPlace::post, p.pattern[0].gated = false, p.pattern[0].ffn_bias = true;
        p.pattern[0].experts = 4, p.pattern[0].experts_used = 3, p.pattern[0].shared_expert = 7;
        p.pattern[1].ffn_width = 13;
    });
    with("an encoder", add_encoder);
    with("an encoder, post-norm and biased", [](Blueprint& p) {
        p.norm_place = NormPlace::post, p.norm = Norm::layer, p.norm_bias = p.ffn_bias = true;
        p.attention_bias(true);
        p.gated = p.final_norm = false, p.head_bias = p.embedding_norm = true;
        add_encoder(p);
    });
    with("an encoder to some layers, of other sizes", [](Blueprint& p) {
        add_encoder(p);
        p.encoder.front().n_layers = 1, p.encoder.front().d_ff = 9;
        p.encoder.front().n_heads = p.encoder.front().n_kv_heads = 1;
        p.pattern = {p, p};
        p.pattern[0].cross_attention = false;
        p.pattern[1].norm_place = NormPlace::sandwich;
    });
    with("a pattern", [](Blueprint& p) {
        p.pattern = {p, p};
        p.pattern[1].window = 3;
        p.pattern[1].norm_place = NormPlace::post;
        p.pattern[1].gated = false;
    });
    return out;
}

} // namespace ordo::train
