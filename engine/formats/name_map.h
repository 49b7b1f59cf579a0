// SPDX-License-Identifier: MIT
// Tensor names as data: a model family's names for Ordo's tensors, and their layouts.
#pragma once

#include "formats/tensor_store.h"
#include "model/blueprint.h"

namespace ordo {

// The layout of Ordo's rows in a tensor of a file. Whole rows are moved in their stored form, blocks without decoding.
enum class Layout {
    whole,      // as in Ordo
    transposed, // [inputs, outputs]: Conv1D of GPT-2. No blocks
    by_head,    // attention.qkv in groups of a key/value head: its queries, its key, its value; NeoX, BLOOM, Falcon
    expert,     // slab E of [experts, rows, cols]
    projected,  // not in the file: a table of the map times this layer's matrix, with its bias; DeBERTa
};

// One line of a family's table. '#' is a layer, '@' an expert. A name that ends in neither .weight nor .bias covers
// both, on both sides. `ours` is a tensor of tensor_list() or of an encoding ("encoding.learned"), or a piece of one,
// rows that others store separately:
//   attention.qkv    attention.q, attention.k, attention.v
//   cross_attention.kv  cross_attention.k, cross_attention.v
//   feed_forward.in  feed_forward.gate, feed_forward.up, if it is gated
// If several lines match one of Ordo's tensors, the first with an existing tensor is used; a whole comes before its
// pieces.
struct NameRule {
    std::string_view ours, theirs;
    Layout layout = Layout::whole;
    bool plus_one = false; // the file stores the weight minus one, not the bias: Gemma's norms
};

struct NameMap {
    std::vector<NameRule> rules;
    // A prefix that some files put before a name of `theirs`, and others omit: "transformer.".
    std::string_view prefix;
    // Other prefixes, in files that hold more than this model: "language_model.model.".
    std::vector<std::string_view> instead = {};
    // Prefixes or suffixes of tensors that are not weights, ignored without a warning: ".attn.bias",
    // "rotary_emb.inv_freq".
    std::vector<std::string_view> ignored;
    // The table of Layout::projected, and the LayerNorm of its rows, if the file has one.
    std::string_view table = {}, table_norm = {};
};

// The stack of one of Ordo's tensors: the encoder, if the name has its prefix, or the model itself.
const Blueprint& stack_of(std::string_view name, const Blueprint& model);

// One of Ordo's tensors, or rows of one.
struct TensorPiece {
    std::string name; // "layers.3.attention.q.weight"
    int first = 0, rows = 0;
};
// The pieces as which a tensor may be stored, in the order of its rows; empty if it is always whole.
std::vector<TensorPiece> pieces_of(const TensorSpec& spec, const Blueprint& blueprint);

// The tensor of a store for a name of `theirs`, with or without the prefix, or with one of `instead`; nullptr if there
// is none.
const FileTensor* find_tensor(const TensorStore& store, const NameMap& names, const std::string& theirs);
// Whether a store has one of Ordo's tensors as a whole.
bool has_tensor(const TensorStore& store, const NameMap& names, std::string_view ours);

// The file's name for one of Ordo's tensors by one line; empty if the line is for another tensor.
//   "layers.3.attention.q.weight" by {"layers.#.attention.q", "model.layers.#.self_attn.q_proj"}
std::string their_name(const NameRule& rule, std::string_view ours);
// The number of the expert in a name; -1 without one.
int expert_in(std::string_view name);

} // namespace ordo
