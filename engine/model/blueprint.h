// SPDX-License-Identifier: MIT
// The description of a transformer as data. An architecture is a Blueprint (models/), never code.
#pragma once

#include "encoding/base/model_encodings.h"
#include "layers/program.h"

namespace ordo {

// A linear layer and an activation, behind the pooling of a text's states into one vector (the module Dense of
// sentence-transformers).
enum class DenseActivation { identity, tanh, relu, gelu, silu, sigmoid };
struct DenseLayer {
    int width = 0; // of its output
    bool bias = false;
    bool unit_input = false; // its input is scaled to a length of 1 first
    DenseActivation activation = DenseActivation::identity;

    bool operator==(const DenseLayer&) const = default;
};

// The properties of the whole model. Its base is the plan of every layer, unless `pattern` has the plans.
struct Blueprint : LayerPlan {
    std::string architecture = "ordo"; // a name in models/list.def; only for display
    int vocab_size = 0;
    int context = 0; // trained context, in tokens
    int n_layers = 0;
    int d_model = 0;
    int n_heads = 0;
    int n_kv_heads = 0; // divides n_heads; fewer than n_heads is grouped-query attention
    int d_head = 0;
    int d_ff = 0; // of each expert, if there are experts

    // Where layers differ: layer i is built by pattern[i % size].
    std::vector<LayerPlan> pattern;

    bool embedding_norm = false; // a norm after the embedding (BERT, BLOOM)
    bool final_norm = true;      // before the head
    bool head = true;            // false: the model ends with states, as an embedding model or a classifier does
    bool tied_head = true;       // the head is the embedding
    bool head_bias = false;
    // Gemma Team 2024 (arXiv 2408.00118): the embedding's rows times sqrt(d_model).
    float embedding_scale = 1; // of the embedding's rows, before encodings and the embedding norm
    // The width of the embedding's rows and the head's, if it is less than d_model (OPT 350M: 512 and 1,024). Matrices
    // [d_model, embedding_width] and [embedding_width, d_model] then convert between the two. 0: d_model, without
    // matrices.
    int embedding_width = 0;
    // Beside an embedding_width, which may then be any: encodings and the embedding norm act on these rows, and the
    // projection behind them has a bias. head_transform writes such rows, without another projection (ELECTRA, arXiv
    // 2003.10555; ALBERT).
    bool projected_embedding = false;
    // Layer i has the weights of layer i % distinct_layers (Lan et al. 2019, arXiv 1909.11942: ALBERT); 0: its own.
    int distinct_layers = 0;
    float final_softcap = 0; // of the logits: s -> cap * tanh(s / cap); 0: none
    // Between the final norm and the head: a matrix [d_model, d_model], with a bias if ffn_bias, the activation, and a
    // norm (the head of BERT's masked language model, Devlin et al. 2018, and the authors' code).
    bool head_transform = false;
    float head_scale = 1; // of the input rows of the head (T5: 1 / sqrt(d_model) where it is tied)

    // The encoder, whose output the layers' cross-attention reads. It is a stack of layers with its own norm and
    // encodings; there is at most one. It shares the embedding, and has no head. Its encodings have the spec of the
    // decoder's.
    std::vector<Blueprint> encoder;

    // The layers through which embed() passes a text's vector, in order. The first reads d_model columns.
    std::vector<DenseLayer> dense;

    int embedding_cols() const { return embedding_width != 0 ? embedding_width : d_model; }
    const LayerPlan& layer(int i) const {
        return pattern.empty() ? *this : pattern[static_cast<std::size_t>(i) % pattern.size()];
    }
    // Whether a layer lets a token see later ones. The whole input is then one pass.
    bool bidirectional() const;
    Dims dims() const;
    // This stack without its encoder, dense layers, pattern and cross-attention: the base of an encoder.
    Blueprint like_this() const;
};

// A Blueprint as the value of the metadata key "blueprint": a JSON object with the fields above. "layers" lists the
// plans of the pattern, each with its differences from the object around it. "encoder" is likewise an object of
// differences. Newer fields are omitted at their default, unless `all` is set, so that an older program can read files
// that do not use them.
std::string to_json(const Blueprint& blueprint, bool all = false);
// Throws Error(model), with `where` and the field, for a field that is missing, unknown or out of range (layers and
// heads <= 1,024, d_head <= 1,024, d_model <= 65,536, d_ff <= 2^20, vocab and context <= 2^22).
Blueprint blueprint_from_json(std::string_view json, std::string_view where);
// The same checks on values. Throws Error(model).
void check(const Blueprint& blueprint, std::string_view where);

// From tokens to logits, or without a head to the states. encodings: each that embeds has a step.
StackProgram compile(const Blueprint& blueprint, const ModelEncodings& encodings = {}, bool head = true);

// The tensors of a blueprint, without those of encodings, in the order of a forward pass, with N < distinct_layers:
//   embedding.weight [vocab_size, d_model], or [vocab_size, embedding_width] and embedding_projection.weight [d_model,
//     embedding_width]
//   encoder.embedding_norm..., encoder.layers.N..., encoder.final_norm..., as below, if there is an encoder
//   embedding_norm.{weight,bias} [d_model], embedding_projection.bias [d_model]: with projected_embedding the norm has
//     embedding_width columns, as has the output of head_transform
//   layers.N.attention_norm.{weight,bias} [d_model] (absent if after; so is feed_forward_norm)
//   layers.N.attention.qkv.{weight [(n_heads + 2 n_kv_heads) d_head, d_model], bias}  q rows, then k, then v
//   layers.N.attention.{q,k,v}.bias instead of that bias, unless all three have one
//   layers.N.attention.{q_norm,k_norm}.weight [d_head], or as wide as all heads
//   layers.N.attention.out.{weight [d_model, n_heads d_head], bias}
//   layers.N.attention_out_norm.{weight,bias} (sandwich, after)
//   layers.N.cross_attention_norm.{weight,bias}, layers.N.cross_attention.q.{weight [n_heads d_head, d_model], bias},
//     layers.N.cross_attention.kv.{weight [2 n_kv_heads d_head, d_model], bias}  k rows, then v
//     layers.N.cross_attention.out.{weight, bias}, layers.N.cross_attention_out_norm...
//   layers.N.feed_forward_norm.{weight,bias} (absent if parallel)
//   layers.N.feed_forward.in.{weight [d_ff or 2 d_ff, d_model], bias}  gated: gate rows, then up
//   layers.N.feed_forward.out.{weight [d_model, d_ff], bias}
//     with experts: layers.N.feed_forward.router.weight [experts, d_model], layers.N.feed_forward.experts.E.{in,out}...
//     with a shared one: layers.N.feed_forward.shared.{in,out}..., layers.N.feed_forward.shared_gate.weight [d_model]
//   layers.N.feed_forward_out_norm.{weight,bias} (sandwich, after)
//   final_norm.{weight,bias}, head_transform.{weight [d_model, d_model], bias}, head_norm.{weight,bias}
//   head_projection.weight [embedding_width, d_model], if there is an embedding_width, without such a head_transform
//   head.weight [vocab_size, d_model or embedding_width] (absent if tied), head.bias [vocab_size]; neither without a
//     head
//   dense.N.weight [its width, the width of the vector before], dense.N.bias [its width]
std::vector<TensorSpec> tensor_list(const Blueprint& blueprint);

} // namespace ordo
