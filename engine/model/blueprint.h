// SPDX-License-Identifier: MIT
// What a transformer is made of, as data. An architecture is a Blueprint (models/), never code.
#pragma once

#include "encoding/base/stack.h"
#include "layers/program.h"

namespace ordo {

// What the whole model shares, and as its base the plan of every layer, unless `pattern` has plans of its own.
struct Blueprint : LayerPlan {
    std::string architecture = "ordo"; // a name in models/list.def; for people only
    int vocab_size = 0;
    int context = 0; // trained context, in tokens
    int n_layers = 0;
    int d_model = 0;
    int n_heads = 0;
    int n_kv_heads = 0; // divides n_heads; fewer than n_heads is grouped-query attention
    int d_head = 0;
    int d_ff = 0; // of each expert, where there are some

    // Where layers differ: layer i is built by pattern[i % size].
    std::vector<LayerPlan> pattern;

    bool embedding_norm = false; // a norm after the embedding (BERT, BLOOM)
    bool final_norm = true;      // before the head
    bool head = true;            // false: the model gives states alone, such as one for embeddings, or a classifier
    bool tied_head = true;       // the head is the embedding
    bool head_bias = false;
    // Gemma Team 2024 (arXiv 2408.00118): the embedding's rows times sqrt(d_model).
    float embedding_scale = 1; // of the embedding's rows, before encodings and the embedding norm
    // Of the embedding's rows and the head's where both are narrower than the model (OPT 350M: 512 and 1,024): matrices
    // [d_model, embedding_width] and [embedding_width, d_model] stand between. 0: d_model, and no matrices.
    int embedding_width = 0;
    float final_softcap = 0; // of the logits: s -> cap * tanh(s / cap); 0: none
    // Between the final norm and the head: a matrix [d_model, d_model] with its bias, the activation, and a norm (the
    // head of BERT's masked language model, Devlin et al. 2018, and the authors' code).
    bool head_transform = false;
    float head_scale = 1; // of the rows that the head reads (T5: 1 / sqrt(d_model) where it is tied)

    // What makes of another text what the layers' cross-attention attends to: a stack of layers of its own, with a norm
    // and encodings of its own; no more than one. It shares the embedding, and has no head. Its encodings are by the
    // same spec as the others'.
    std::vector<Blueprint> encoder;

    int embedding_cols() const { return embedding_width != 0 ? embedding_width : d_model; }
    const LayerPlan& layer(int i) const {
        return pattern.empty() ? *this : pattern[static_cast<std::size_t>(i) % pattern.size()];
    }
    // Whether some layer lets a token see those that follow: the whole input then goes through at once.
    bool bidirectional() const;
    Dims dims() const;
    // An encoder like this stack: what it has no fields of its own for.
    Blueprint like_this() const;
};

// A Blueprint as the value of the metadata key "blueprint": a JSON object with the fields above, and "layers", a list
// of the plans of its pattern, each with what differs from the object around it, and "encoder", likewise an object of
// what differs. Fields that came later than others are left out at their default, unless `all` are asked for, so that a
// program that does not know them still reads what does not use them.
std::string to_json(const Blueprint& blueprint, bool all = false);
// Throws Error(model), naming `where` and the field: a field missing, unknown
// or out of range (layers and heads <= 1,024, d_head <= 1,024, d_model <= 65,536, d_ff <= 2^20, vocab
// and context <= 2^22).
Blueprint blueprint_from_json(std::string_view json, std::string_view where);
// The same checks on values. Throws Error(model).
void check(const Blueprint& blueprint, std::string_view where);

// From tokens to logits, or without a head to the states; encodings: those that embed have a step each.
StackProgram compile(const Blueprint& blueprint, const EncodingStack& encodings = {}, bool head = true);

// The tensors of a blueprint, encodings apart, in the order of a forward pass:
//   embedding.weight [vocab_size, d_model], or [vocab_size, embedding_width] and embedding_projection.weight [d_model,
//     embedding_width]
//   encoder.embedding_norm..., encoder.layers.N..., encoder.final_norm..., as below, where there is an encoder
//   embedding_norm.{weight,bias} [d_model]
//   layers.N.attention_norm.{weight,bias} [d_model]
//   layers.N.attention.qkv.{weight [(n_heads + 2 n_kv_heads) d_head, d_model], bias}  q rows, then k, then v
//   layers.N.attention.{q,k,v}.bias in the place of that bias, if not all three have one
//   layers.N.attention.{q_norm,k_norm}.weight [d_head], or as wide as all heads
//   layers.N.attention.out.{weight [d_model, n_heads d_head], bias}
//   layers.N.attention_out_norm.{weight,bias} (sandwich)
//   layers.N.cross_attention_norm.{weight,bias}, layers.N.cross_attention.q.{weight [n_heads d_head, d_model], bias},
//     layers.N.cross_attention.kv.{weight [2 n_kv_heads d_head, d_model], bias}  k rows, then v
//     layers.N.cross_attention.out.{weight, bias}, layers.N.cross_attention_out_norm...
//   layers.N.feed_forward_norm.{weight,bias} (absent if parallel)
//   layers.N.feed_forward.in.{weight [d_ff or 2 d_ff, d_model], bias}  gated: gate rows, then up
//   layers.N.feed_forward.out.{weight [d_model, d_ff], bias}
//     with experts: layers.N.feed_forward.router.weight [experts, d_model], layers.N.feed_forward.experts.E.{in,out}...
//     with a shared one: layers.N.feed_forward.shared.{in,out}..., layers.N.feed_forward.shared_gate.weight [d_model]
//   layers.N.feed_forward_out_norm.{weight,bias} (sandwich)
//   final_norm.{weight,bias}, head_transform.{weight [d_model, d_model], bias}, head_norm.{weight,bias}
//   head_projection.weight [embedding_width, d_model], where there is such a width
//   head.weight [vocab_size, d_model or embedding_width] (absent if tied), head.bias [vocab_size]; neither without a
//     head
std::vector<TensorSpec> tensor_list(const Blueprint& blueprint);

} // namespace ordo
