// SPDX-License-Identifier: MIT
// What a transformer is made of, as data. An architecture is a Blueprint (models/), never code.
#pragma once

#include "layers/kinds.h"
#include "ops/activation.h"
#include "ops/norm.h"

namespace ordo {

struct Blueprint {
    std::string architecture = "ordo"; // a name in models/list.def; for people only
    int vocab_size = 0;
    int context = 0; // trained context, in tokens
    int n_layers = 0;
    int d_model = 0;
    int n_heads = 0;
    int n_kv_heads = 0; // divides n_heads; fewer than n_heads is grouped-query attention
    int d_head = 0;
    int d_ff = 0;

    Norm norm = Norm::rms;
    float norm_eps = 1e-5f;
    NormPlace norm_place = NormPlace::pre;
    bool parallel_residual = false; // x + attention(norm(x)) + ffn(norm(x)), one norm; pre only
    Activation activation = Activation::silu;
    bool gated = true;           // activation(gate) * up, Shazeer 2020
    bool attention_bias = false; // on q, k, v and the output
    bool ffn_bias = false;
    bool embedding_norm = false; // a norm after the embedding stage (BERT, BLOOM)
    bool final_norm = true;      // before the head
    bool tied_head = true;       // the head is the embedding
    Mask mask = Mask::causal;
    int window = 0;        // keys that a query sees, itself included; 0: all; causal only
    float score_scale = 0; // 0: 1 / sqrt(d_head)
    // Gemma Team 2024 (arXiv 2408.00118): the embedding's rows times sqrt(d_model), s -> cap * tanh(s / cap).
    float embedding_scale = 1;   // of the embedding's rows, before encodings and the embedding norm
    float attention_softcap = 0; // of scaled scores, before the bias; 0: none
    float final_softcap = 0;     // of the logits; 0: none

    Dims dims() const { return {d_model, n_heads, d_head, n_layers, context}; }
    float scale() const; // score_scale, resolved
};

// A Blueprint as the value of the metadata key "blueprint": a JSON object with the fields above. The
// last three came later: at their default they are left out unless `all` are asked for, so that a
// program that does not know them still reads what does not use them.
std::string to_json(const Blueprint& blueprint, bool all = false);
// Throws Error(model), naming `where` and the field: a field missing (but for the last three), unknown
// or out of range (layers and heads <= 1,024, d_head <= 1,024, d_model <= 65,536, d_ff <= 2^20, vocab
// and context <= 2^22).
Blueprint blueprint_from_json(std::string_view json, std::string_view where);
// The same checks on values. Throws Error(model).
void check(const Blueprint& blueprint, std::string_view where);

// The tensors of a blueprint, encodings apart, in the order of a forward pass:
//   embedding.weight [vocab_size, d_model], embedding_norm.{weight,bias} [d_model]
//   layers.N.attention_norm.{weight,bias} [d_model]
//   layers.N.attention.qkv.{weight [(n_heads + 2 n_kv_heads) d_head, d_model], bias}  q rows, then k, then v
//   layers.N.attention.out.{weight [d_model, n_heads d_head], bias}
//   layers.N.feed_forward_norm.{weight,bias} (absent if parallel_residual)
//   layers.N.feed_forward.in.{weight [d_ff or 2 d_ff, d_model], bias}  gated: gate rows, then up
//   layers.N.feed_forward.out.{weight [d_model, d_ff], bias}
//   final_norm.{weight,bias}, head.weight [vocab_size, d_model] (absent if tied)
// A norm has a bias if it is Norm::layer. init_std is what training starts from: 0 for biases, and
// for norm weights the special case below.
std::vector<TensorSpec> tensor_list(const Blueprint& blueprint);
// True for tensors that start at one (the weights of norms).
bool starts_at_one(std::string_view tensor_name);

// The architectures of models/list.def, as blueprints whose sizes are examples.
struct Architecture {
    std::string_view name, summary;
    Blueprint (*make)();
    std::string_view encoding; // the spec that it is usually built with
};
std::span<const Architecture> architectures();

} // namespace ordo
