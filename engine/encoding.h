// SPDX-License-Identifier: MIT
// The interface of a positional encoding. A forward pass has nine moments at which position can enter. An encoding
// overrides the method of each moment at which it acts:
//
//   struct Slope : ordo::Encoding { // a score falls with the distance of its key: ALiBi, with one slope for all heads
//       std::string spec() const override { return "slope"; }
//       void bias(ordo::View scores, const ordo::Tile& tile) const override { // [n_queries, n_keys]
//           for (int i = 0; i < scores.rows; ++i)
//               for (int j = 0; j < scores.cols; ++j) scores.row(i)[j] -= 0.1f * (tile.queries[i] - tile.keys[j]);
//       }
//   };
//
// Model::load(file, std::make_unique<Slope>()) puts the encoding into a model. engine/examples/own_encoding.cpp is a
// whole program. ordo.h includes this file. engine/encoding has one file for each encoding of Ordo.
#pragma once

#include "encoding_tables.h"

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace ordo {

// The moments, in capitals, between the steps of a forward pass. Braces hold the steps of each of n layers. wo is the
// output projection of attention.
//   ids > POSITIONS > embedding > EMBED > SHIFT > n x { norm > SHIFT > OBSERVE > q,k,v > SHIFT > ROTATE > cache
//   > q.k*scale > cap > BIAS > RESCORE > mask > softmax (SINK) > .v > MIX > wo > + > norm > SHIFT > feed-forward > + }
enum Moment : unsigned {
    moment_embed = 1,
    moment_rotate = 2,
    moment_bias = 4,
    moment_observe = 8,
    moment_rescore = 16,
    moment_mix = 32,
    moment_sink = 64,
    moment_shift = 128,
    moment_positions = 256
};

// The positions and segments that an encoding can encode: 0 .. positions - 1 and 0 .. segments - 1. An encoding that
// derives its positions limits these by `derived` instead: 0 .. derived - 1.
struct Limits {
    int positions = std::numeric_limits<int>::max();
    int segments = std::numeric_limits<int>::max();
    int derived = std::numeric_limits<int>::max();

    int given() const { return positions < derived ? positions : derived; } // of positions that a caller gives
};
struct AtLength;

// A positional encoding. The engine calls bind(), then prepare(), then the moments. The methods that it calls after
// prepare() are const, and many threads may call them at once. A call covers some or all of a pass's rows or heads in
// one layer, never a single element. A moment must not throw.
//
// Each moment has a backward pass. Given the gradient of the moment's output, it computes the gradients of the inputs.
// It adds the gradients of the tensors, and of a Tile's views, to a Gradients. A backward pass that is not overridden
// throws Error(usage).
class Encoding {
public:
    virtual ~Encoding() = default;

    // The canonical spec with every parameter written out, e.g. "rope:theta=10000,pairing=adjacent,width=32".
    virtual std::string spec() const = 0;
    // The moments at which the encoding acts: a set of Moment bits. By default those whose methods its class overrides,
    // which OwnEncoding finds. Throws Error(usage) for an object that was in none, or only by a pointer to a base.
    virtual unsigned moments() const;
    // The moments that have a backward pass, likewise. Training needs it for each of moments() but POSITIONS, or throws
    // before the first step. If no tensor is trained and reads() is 0, BIAS needs none, nor does SINK without RESCORE.
    virtual unsigned gradients() const;

    // POSITIONS: derives the encoding's own position ids [n, position_axes()] from tokens, such as the place of a digit
    // in its number. The other moments of this encoding get them in the place of the text's positions. The ids of a
    // token may also hold a count that the next token needs; the cache keeps them. Called before a pass, with all its
    // new rows of a sequence in order, unless the caller gives positions. It needs no backward pass.
    virtual void positions(IdView /*ids*/, const TextRows&) const {}
    virtual int position_axes() const { return 1; }

    // EMBED: changes x [n, d] in place, before the first layer.
    virtual void embed(View /*x*/, const TokenRows&) const {}
    // dx [n, d] holds the gradient of the output, and is replaced by that of the input. x is the input of embed().
    virtual void embed_backward(View dx, View x, const TokenRows&, const Gradients&) const;

    // ROTATE: changes x [n, n_heads * e] in place: rows of some heads of one layer, in a role for which rotates().
    virtual void rotate(View /*x*/, const HeadRows&) const {}
    // dx holds the gradient of the output, and is replaced by that of the input. x is the output of rotate().
    virtual void rotate_backward(View dx, View x, const HeadRows&, const Gradients&) const;
    // The roles in which rows are rotated. By default queries and keys, if the encoding acts at ROTATE.
    virtual bool rotates(Role) const;
    // True if rotate() only multiplies each query by a factor of its layer, head and position. In a layer such
    // encodings may act beside the one that rotates, after it.
    virtual bool scales_queries() const { return false; }

    // BIAS: adds to scores [n_queries, n_keys] of one head, which are scaled and capped. They may include entries that
    // the mask hides; these are ignored afterwards.
    virtual void bias(View /*scores*/, const Tile&) const {}
    // d_scores: the gradient of the scores, zero where the mask hides them.
    virtual void bias_backward(View d_scores, const Tile&, const Gradients&) const;

    // OBSERVE: reads x [n, d], the input of a layer's attention, and writes all of state [n, state_floats()], which the
    // cache keeps with the token. before: the state of the token before the first row, or null at the start of a
    // sequence. A pass calls it for each sequence and layer, with all its rows of that sequence in order: once, or on
    // each thread (below). With reads_query_state alone the cache keeps nothing, and before is null.
    virtual void observe(View /*x*/, int /*layer*/, Positions, const float* /*before*/, View /*state*/) const {}
    // True if observe() reads and writes the state in loops of core/parallel.h alone, the same loops on every thread.
    // In a pass of 32 rows or more of one sequence, each thread then calls observe(), and they share its loops.
    virtual bool observes_in_loops() const { return false; }
    // Takes a whole sequence, and adds to dx. It may overwrite d_state [n, state_floats()], the gradient of the state.
    virtual void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                                  const Gradients&) const;
    virtual int state_floats() const { return 0; }

    // RESCORE: changes scores [1, n_keys] in place, after BIAS: one query and all the keys that it may see. A score of
    // -infinity hides its key. A row without any key has the output 0.
    virtual void rescore(View /*scores*/, const Tile&) const {}
    // Whether rescore() also takes scores [n_queries, n_keys] of causal queries. A query sees the keys of its window up
    // to its own token, and its scores of other keys are ignored. Its scores must have the same bits as alone.
    // rescore_backward() has one query.
    virtual bool rescores_tiles() const { return false; }
    // d_scores holds the gradient of the output, and is replaced by that of the input, which is in scores.
    virtual void rescore_backward(View d_scores, View scores, const Tile&, const Gradients&) const;

    // MIX: adds to out [n_queries, e], the output of one head. weights [n_queries, n_keys]: the softmax, zero where
    // masked. A long sequence may come in chunks of keys, each with weights that sum to one.
    virtual void mix(View /*out*/, View /*weights*/, const Tile&) const {}
    // Adds to d_weights.
    virtual void mix_backward(View d_out, View weights, View d_weights, const Tile&, const Gradients&) const;

    // SINK: returns a logit that counts in the denominator of a query's softmax, and that has no value vector. The tile
    // has that query and no keys.
    virtual float sink(const Tile&) const { return -std::numeric_limits<float>::infinity(); }
    virtual void sink_backward(float d_sink, const Tile&, const Gradients&) const;

    // SHIFT: mixes each row of x [n, cols] with rows before it, at the places for which shifts(). x holds the same rows
    // as the end of rows.inputs, which the cache keeps.
    virtual void shift(View /*x*/, const ShiftRows& /*rows*/) const {}
    // Takes a whole sequence. dx holds the gradient of the output, and is replaced by that of the inputs.
    virtual void shift_backward(View dx, const ShiftRows& rows, const Gradients&) const;
    virtual bool shifts(Place) const { return false; }
    virtual int shift_rows() const { return 0; } // the number of earlier rows that a row is mixed with, at most

    // The parts of a Tile that BIAS, RESCORE, MIX and SINK read, and the state for ROTATE: a set of Reads bits.
    virtual unsigned reads() const { return 0; }

    // Tensors stored with the weights. bind() passes them in the same order (rank 1 as one row), once for each layer in
    // which the encoding acts, before prepare(). Tensors that are not per layer are the same each time. The views stay
    // valid as long as the encoding.
    virtual std::vector<TensorSpec> tensors() const { return {}; }
    virtual void bind(int /*layer*/, std::span<const View> /*tensors*/) {}
    // Builds tables for positions 0 .. n_positions - 1. It is called again when training has changed the tensors. Later
    // positions work without tables, more slowly.
    virtual void prepare(int /*n_positions*/) {}

    // As long as all positions of the text stay below this, adding a constant to them changes nothing in the model's
    // output. FIRE returns its threshold, an encoding of absolute positions 0.
    virtual int shift_invariant_below() const { return std::numeric_limits<int>::max(); }
    bool shift_invariant() const { return shift_invariant_below() == std::numeric_limits<int>::max(); }
    virtual Limits limits() const { return {}; }

    // The operations of a moment for all heads of one layer (EMBED: of the model), counted from the formula. An
    // addition, multiplication, division or comparison outside products counts 1, as does a read at a computed index. A
    // function such as exp counts operations_of_function. Assume scores near 0 for data-dependent costs. Return 0 for
    // unused moments and a positive count for at least one used moment.
    virtual Operations operations(Moment, const Work&) const;

    // The encoding as numbers, in double precision if possible. The default shows the result of embed() on zeros, or
    // the bias of one head, and needs bound tensors. Throws Error(usage) for a part that is not one of
    // table_parts().
    virtual TableRows table_rows(const TableRequest& request) const;
    // Names of the tables, the main one first.
    virtual std::vector<std::string> table_parts() const { return {"table"}; }
    // All rows at once. Throws Error(limit) if they are too many to hold.
    Table table(const TableRequest& request) const;

    // ---- For one encoding, or few --------------------------------------------------------------

    // The moments at which no other encoding of the layer may act: a set of Moment bits.
    virtual unsigned alone_at() const { return 0; }
    // Whether a cache may renumber its tokens. True by default if nothing in a cache depends on an absolute position:
    // no key, value or output is rotated, no state kept, no absolute position added to the embedding. Ids that the
    // encoding derives stay as they are.
    virtual bool can_move_keys() const;
    // Subtracts `by` from the positions of keys that are already rotated, in place (rope, xpos).
    virtual void move_keys(View /*keys*/, const HeadRows&, int /*by*/) const {}
    // The encoding that replaces this one in a session of this capacity when its text has this length, if angles
    // depend on one of them (dynamic NTK, LongRoPE). The engine binds and prepares it, and shares it among sessions for
    // which its spec is the same. By default this one stays.
    virtual AtLength at_length(int capacity, int text) const;

private:
    template <std::derived_from<Encoding> T>
    friend std::unique_ptr<T> with_moments(std::unique_ptr<T> encoding);
    struct Overridden {
        unsigned moments, gradients;
    };
    std::optional<Overridden> overridden_; // by its class, if that is known
    const Overridden& overridden() const;
};

#define ORDO_OVERRIDDEN(method, suffix)                                                                                \
    (requires { requires std::same_as<decltype(&T::method##suffix), decltype(&Encoding::method##suffix)>; }            \
         ? 0u                                                                                                          \
         : moment_##method)
#define ORDO_OVERRIDDEN_MOMENTS(suffix)                                                                                \
    (ORDO_OVERRIDDEN(embed, suffix) | ORDO_OVERRIDDEN(rotate, suffix) | ORDO_OVERRIDDEN(bias, suffix) |                \
     ORDO_OVERRIDDEN(observe, suffix) | ORDO_OVERRIDDEN(rescore, suffix) | ORDO_OVERRIDDEN(mix, suffix) |              \
     ORDO_OVERRIDDEN(sink, suffix) | ORDO_OVERRIDDEN(shift, suffix))
// Tells an encoding the moments whose methods and backward passes its class overrides, if T is its class, not a base.
template <std::derived_from<Encoding> T>
std::unique_ptr<T> with_moments(std::unique_ptr<T> encoding) {
    if (Encoding* const own = encoding.get(); own && typeid(*own) == typeid(T))
        own->overridden_ = {ORDO_OVERRIDDEN_MOMENTS() | ORDO_OVERRIDDEN(positions, ),
                            ORDO_OVERRIDDEN_MOMENTS(_backward)};
    return encoding;
}
#undef ORDO_OVERRIDDEN_MOMENTS
#undef ORDO_OVERRIDDEN

// An encoding of the caller's. A unique_ptr of its class converts to it. Functions that take it throw Error(usage) for
// a null pointer.
struct OwnEncoding {
    template <std::derived_from<Encoding> T>
    OwnEncoding(std::unique_ptr<T> own) : encoding(with_moments(std::move(own))) {} // NOLINT: implicit
    std::unique_ptr<Encoding> encoding;
};

// See Encoding::at_length.
struct AtLength {
    OwnEncoding instead = std::unique_ptr<Encoding>(); // null: the encoding stays
    // Texts of more tokens may need another version. The session then computes all its tokens again (LongRoPE: the
    // original context).
    int longest_text = std::numeric_limits<int>::max();
};

// Gives an encoding of the caller's a name in specs, for the rest of the process. make_encodings(), LoadOptions and
// Trainer then make it by name; a text that needs longer tables makes it again, on the thread that feeds it. `make`
// gets the sizes of the model and the item of the spec, such as "slope:rate=0.1". The spec() of its result begins with
// the name. Throws Error(usage) for a name that is taken or is not [a-z0-9-].
void register_encoding(std::string_view name, std::function<OwnEncoding(const Dims& dims, std::string_view item)> make);

// Makes the encodings that a spec such as "segment+learned" names, in the order in which they act. "none" and the empty
// spec give an empty list. Throws Error(usage), also for encodings that differ by layer.
std::vector<std::unique_ptr<Encoding>> make_encodings(std::string_view spec, const Dims& dims);

} // namespace ordo

#pragma GCC visibility pop
