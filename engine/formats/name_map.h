// SPDX-License-Identifier: MIT
// Names of tensors as data: what a family of models calls ours, and how what it stores is laid out.
#pragma once

#include "formats/tensor_store.h"
#include "model/blueprint.h"

namespace ordo {

// How rows of ours lie in a tensor of theirs. Whole rows are moved as they are stored, blocks without being decoded.
enum class Layout {
    whole,      // as ours
    transposed, // [inputs, outputs]: Conv1D of GPT-2. No blocks
    by_head,    // attention.qkv in groups of a key/value head: its queries, its key, its value; NeoX, BLOOM, Falcon
    expert,     // slab E of [experts, rows, cols]
};

// One line of a family's table. '#' stands for a layer, '@' for an expert. A name that ends in neither .weight nor
// .bias stands for both, on both sides. `ours` is a tensor of tensor_list() or of an encoding ("encoding.learned"), or
// a piece of one, rows that others store apart:
//   attention.qkv    attention.q, attention.k, attention.v
//   cross_attention.kv  cross_attention.k, cross_attention.v
//   feed_forward.in  feed_forward.gate, feed_forward.up, where it is gated
// Of several lines for one of ours the first whose tensor is there is taken; a whole before its pieces.
struct NameRule {
    std::string_view ours, theirs;
    Layout layout = Layout::whole;
    bool plus_one = false; // theirs is what is added to one: Gemma's norms
};

struct NameMap {
    std::vector<NameRule> rules;
    // What some files put before a name of `theirs`, and others leave out: "transformer.".
    std::string_view prefix;
    // What stands in the place of that in files that hold more than this model: "language_model.model.".
    std::vector<std::string_view> instead = {};
    // Beginnings or ends of names that are no weights and deserve no warning: ".attn.bias", "rotary_emb.inv_freq".
    std::vector<std::string_view> ignored;
};

// The stack that a tensor of ours belongs to: the encoder, if it has its prefix, or the model itself.
const Blueprint& stack_of(std::string_view name, const Blueprint& model);

// A tensor of ours, or rows of one.
struct TensorPiece {
    std::string name; // "layers.3.attention.q.weight"
    int first = 0, rows = 0;
};
// The pieces that a tensor may be stored as, in the order of its rows; none if it is always whole.
std::vector<TensorPiece> pieces_of(const TensorSpec& spec, const Blueprint& blueprint);

// The tensor of a store under a name of theirs, with or without the prefix, or with what stands in its place; nullptr.
const FileTensor* find_tensor(const TensorStore& store, const NameMap& names, const std::string& theirs);
// Whether a store has a tensor for one of ours, whole.
bool has_tensor(const TensorStore& store, const NameMap& names, std::string_view ours);

// The name of theirs for one of ours by one line: empty if the line is about another.
//   "layers.3.attention.q.weight" by {"layers.#.attention.q", "model.layers.#.self_attn.q_proj"}
std::string their_name(const NameRule& rule, std::string_view ours);
// Of a name with an expert in it its number; -1.
int expert_in(std::string_view name);

} // namespace ordo
