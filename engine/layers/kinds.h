// SPDX-License-Identifier: MIT
// The options of a transformer's layers, and the plan of one layer.
#pragma once

#include "ops/activation.h"
#include "ops/norm.h"
#include "rows.h"

namespace ordo {

// The places of a layer's norms, with f for attention and g for the feed-forward branch:
enum class NormPlace {
    pre,          // x += f(norm(x)); x += g(norm'(x))
    post,         // x = norm(x + f(x)); x = norm'(x + g(x))
    sandwich,     // x += norm2(f(norm(x))); x += norm2'(g(norm'(x)))    Gemma 2, arXiv 2408.00118
    parallel,     // x += f(norm(x)) + g(norm(x)), one norm              Wang and Komatsuzaki 2021 (GPT-J)
    parallel_two, // x += f(norm(x)) + g(norm'(x)), two                 Black et al. 2022 (GPT-NeoX)
    after         // x += norm(f(x)); x += norm'(g(x))                  OLMo 2, arXiv 2501.00656
};

// An RMS norm of queries and keys before their rotation: for each head, with one weight [d_head] for all heads (Qwen 3,
// Gemma 3), or over all heads together, with a weight [heads * d_head] (OLMo 2). rotated: for each head, after the
// rotation (Hunyuan); such a model is not trained here, and its scores depend on more than distances.
enum class QkNorm { none, head, width, rotated };

// The options of one layer, without its sizes.
struct LayerPlan {
    Norm norm = Norm::rms;
    bool norm_bias = false; // Norm::layer only
    float norm_eps = 1e-5f;
    NormPlace norm_place = NormPlace::pre;
    bool attention_norm =
        true; // false: attention reads the stream as it is; NormPlace::pre only (ModernBERT's first layer)
    QkNorm qk_norm = QkNorm::none;
    float qkv_clip = 0; // queries, keys and values are clipped to +- this value before their norms; 0: no clipping

    bool q_bias = false, k_bias = false, v_bias = false;
    bool out_bias = false; // of attention's output
    Mask mask = Mask::causal;
    // The keys that a query sees, itself included; 0: all. A bidirectional query sees half of them on each side.
    int window = 0;
    float score_scale = 0;       // 0: 1 / sqrt(d_head)
    float attention_softcap = 0; // of scaled scores, before the bias: s -> cap * tanh(s / cap); 0: none

    // Attention to an encoder's output, after self-attention (Vaswani et al. 2017, section 3.2.3). It is a branch of
    // its own with its own norm, and shares the biases and the score scale of self-attention. No encoding acts in it.
    bool cross_attention = false;

    Activation activation = Activation::silu;
    bool gated = true; // activation(gate) * up, Shazeer 2020
    bool ffn_bias = false;
    int ffn_width = 0; // width of this layer's feed-forward part, or of each expert; 0: the model's d_ff
    // A mixture of so many feed-forward branches (Shazeer et al. 2017, arXiv 1701.06538; Jiang et al. 2024, arXiv
    // 2401.04088). A softmax over router logits picks the best few for each token. 0: a single branch without a router.
    int experts = 0;
    int experts_used = 0;             // for each token
    bool experts_renormalised = true; // the weights of the chosen experts sum to one
    // The width of one more expert, which every token x uses, with the weight sigmoid(x . w), where w is a vector of
    // its own (Qwen Team 2024, Qwen1.5-MoE); 0: none.
    int shared_expert = 0;

    // Biases of q, k, v and the output alike.
    void attention_bias(bool all) { q_bias = k_bias = v_bias = out_bias = all; }
    bool operator==(const LayerPlan&) const = default;
};

} // namespace ordo
