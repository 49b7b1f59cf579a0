// SPDX-License-Identifier: MIT
// The interface of a positional encoding. A forward pass has seven moments at which position can enter. An encoding
// overrides the method of each moment at which it acts, and moments() names these moments:
//
//   struct Slope : ordo::Encoding { // a score falls with the distance of its key: ALiBi, with one slope for all heads
//       std::string spec() const override { return "slope"; }
//       unsigned moments() const override { return ordo::moment_bias; }
//       void bias(ordo::View scores, const ordo::Tile& tile) const override { // [n_queries, n_keys]
//           for (int i = 0; i < scores.rows; ++i)
//               for (int j = 0; j < scores.cols; ++j) scores.row(i)[j] -= 0.1f * (tile.queries[i] - tile.keys[j]);
//       }
//   };
//
// Model::load(file, std::make_unique<Slope>()) puts the encoding into a model. engine/examples/own_encoding.cpp is a
// whole program. ordo.h includes this file. engine/encoding has one file for each encoding of Ordo.
#pragma once

#include "rows.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)

namespace ordo {

// The moments, in capitals, between the steps of a forward pass. Braces hold the steps of each of n layers. wo is the
// output projection of attention.
//   ids > embedding > EMBED > n x { norm > OBSERVE > q,k,v > ROTATE > cache > q.k*scale > cap > BIAS > RESCORE > mask
//   > softmax (SINK) > .v > MIX > wo ... }
enum Moment : unsigned {
    moment_embed = 1,
    moment_rotate = 2,
    moment_bias = 4,
    moment_observe = 8,
    moment_rescore = 16,
    moment_mix = 32,
    moment_sink = 64
};

// ---- The encoding -----------------------------------------------------------------------------

struct Operations;
struct Work;
struct Table;
struct TableRows;
struct TableRequest;

// A positional encoding. The engine calls bind(), then prepare(), then the moments. The methods that it calls after
// prepare() are const, and many threads may call them at once. A call covers some or all of a pass's rows or heads in
// one layer, never a single element. A moment must not throw.
//
// Each moment has a backward pass. Given the gradient of the moment's output, it computes the gradients of the inputs.
// It adds the gradients of the tensors to `grads`, one for each of tensors(); of a tensor per layer, that of the call's
// layer. gradients() names the backward passes that exist. The others throw Error(usage).
class Encoding {
public:
    virtual ~Encoding() = default;

    // The canonical spec with every parameter written out, e.g. "rope:theta=10000,pairing=adjacent,width=32".
    virtual std::string spec() const = 0;
    // The moments at which the encoding acts: a set of Moment bits.
    virtual unsigned moments() const = 0;
    // The moments that have a backward pass. Training needs it for each of moments(), or throws before the first step.
    // If no tensor is trained, a SINK and a BIAS that reads nothing do without.
    virtual unsigned gradients() const { return 0; }

    // EMBED: changes x [n, d] in place, before the first layer.
    virtual void embed(View /*x*/, const TokenRows&) const {}
    // dx [n, d] holds the gradient of the output, and is replaced by that of the input. x is the input of embed().
    virtual void embed_backward(View dx, View x, const TokenRows&, std::span<const View> grads) const;

    // ROTATE: changes x [n, n_heads * e] in place: the queries or keys of all or some heads of one layer.
    virtual void rotate(View /*x*/, const HeadRows&) const {}
    // dx holds the gradient of the output, and is replaced by that of the input. x is the output of rotate().
    virtual void rotate_backward(View dx, View x, const HeadRows&, std::span<const View> grads) const;
    // False if rotate() leaves the rows of this role unchanged.
    virtual bool rotates(Role) const { return (moments() & moment_rotate) != 0; }

    // BIAS: adds to scores [n_queries, n_keys] of one head, which are scaled and capped. They may include entries that
    // the mask hides; these are ignored afterwards.
    virtual void bias(View /*scores*/, const Tile&) const {}
    // d_scores: the gradient of the scores, zero where the mask hides them.
    virtual void bias_backward(View d_scores, const Tile&, const TileGradient&) const;

    // OBSERVE: reads x [n, d], the input of a layer's attention, and writes state [n, state_floats()], which the cache
    // keeps with the token. before: the state of the token before the first row, or null at the start of a sequence. A
    // pass makes one call for each sequence and layer, with all its rows of that sequence in order.
    virtual void observe(View /*x*/, int /*layer*/, Positions, const float* /*before*/, View /*state*/) const {}
    // Takes a whole sequence, and adds to dx. It may overwrite d_state [n, state_floats()], the gradient of the state.
    virtual void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                                  std::span<const View> grads) const;
    virtual int state_floats() const { return 0; }

    // RESCORE: changes scores [1, n_keys] in place, after BIAS: one query and all the keys that it may see.
    virtual void rescore(View /*scores*/, const Tile&) const {}
    // d_scores holds the gradient of the output, and is replaced by that of the input, which is in scores.
    virtual void rescore_backward(View d_scores, View scores, const Tile&, const TileGradient&) const;

    // MIX: adds to out [n_queries, e], the output of one head. weights [n_queries, n_keys]: the softmax, zero where
    // masked. A long sequence may come in chunks of keys, each with weights that sum to one.
    virtual void mix(View /*out*/, View /*weights*/, const Tile&) const {}
    // Adds to d_weights.
    virtual void mix_backward(View d_out, View weights, View d_weights, const Tile&, const TileGradient&) const;

    // SINK: returns a logit that counts in the denominator of a head's softmax, and that has no value vector.
    virtual float sink(int /*layer*/, int /*head*/) const { return -std::numeric_limits<float>::infinity(); }
    virtual void sink_backward(int layer, int head, float d_sink, std::span<const View> grads) const;

    // The parts of a Tile that BIAS, RESCORE and MIX read: a set of Reads bits.
    virtual unsigned reads() const { return 0; }

    // Tensors stored with the weights. bind() passes them in the same order (rank 1 as one row), once for each layer in
    // which the encoding acts, before prepare(). Tensors that are not per layer are the same each time. The views stay
    // valid as long as the encoding.
    virtual std::vector<TensorSpec> tensors() const { return {}; }
    virtual void bind(int /*layer*/, std::span<const View> /*tensors*/) {}
    // Builds tables for positions 0 .. n_positions - 1. It is called again when training has changed the tensors. Later
    // positions work without tables, more slowly.
    virtual void prepare(int /*n_positions*/) {}

    // True if adding a constant to all positions changes nothing in the model's output.
    virtual bool shift_invariant() const { return true; }
    // Positions 0 .. max_position() - 1 can be encoded.
    virtual int max_position() const { return std::numeric_limits<int>::max(); }

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

    // Whether a cache may renumber its tokens. True by default if nothing in a cache depends on an absolute position:
    // no key is rotated, no state observed, no absolute position added to the embedding.
    virtual bool can_move_keys() const;
    // Changes keys that rotate() has rotated, in place, as if their positions were less by `by` (rope, xpos).
    virtual void move_keys(View /*keys*/, const HeadRows&, int /*by*/) const {}
    // The encoding that replaces this one at a length of so many tokens, if angles depend on the length (dynamic NTK,
    // LongRoPE). Null: this one stays. The engine binds and prepares it, and shares it among sessions for which its
    // spec is the same.
    virtual std::unique_ptr<Encoding> at_length(int /*tokens*/) const { return nullptr; }
    // The length of a text beyond which the encoding changes (LongRoPE: the original context). at_length() then gets
    // the length of the text, and the session computes all tokens again. By default the encoding does not change:
    // at_length() gets the capacity of the session, which is constant.
    virtual int changes_beyond() const { return std::numeric_limits<int>::max(); }
    // Shift invariant as long as all positions stay below this (FIRE: its threshold).
    virtual int shift_invariant_below() const { return shift_invariant() ? std::numeric_limits<int>::max() : 0; }
    // Segments 0 .. max_segment() - 1 can be encoded (segment).
    virtual int max_segment() const { return std::numeric_limits<int>::max(); }
};

// The moments whose methods T overrides.
template <std::derived_from<Encoding> T>
constexpr unsigned overridden_moments() {
#define ORDO_OVERRIDDEN(method)                                                                                        \
    (requires { requires std::same_as<decltype(&T::method), decltype(&Encoding::method)>; } ? 0u : moment_##method)
    return ORDO_OVERRIDDEN(embed) | ORDO_OVERRIDDEN(rotate) | ORDO_OVERRIDDEN(bias) | ORDO_OVERRIDDEN(observe) |
           ORDO_OVERRIDDEN(rescore) | ORDO_OVERRIDDEN(mix) | ORDO_OVERRIDDEN(sink);
#undef ORDO_OVERRIDDEN
}

// An encoding of the caller's. A unique_ptr converts to it. Functions that take it throw Error(usage) for a null
// pointer, and if moments() lacks the moment of a method that its class overrides.
struct OwnEncoding {
    template <std::derived_from<Encoding> T>
    OwnEncoding(std::unique_ptr<T> own) // NOLINT: implicit
        : encoding(std::move(own)), overridden(overridden_moments<T>()) {}
    std::unique_ptr<Encoding> encoding;
    unsigned overridden; // moments
};

// Gives an encoding of the caller's a name in specs, for the rest of the process. make_encodings(), LoadOptions and
// Trainer then make it by name; a text that needs longer tables makes it again, on the thread that feeds it. `make`
// gets the sizes of the model and the item of the spec, such as "slope:rate=0.1". The spec() of its result begins with
// the name. Throws Error(usage) for a name that is taken or is not [a-z0-9-].
void register_encoding(std::string_view name, std::function<OwnEncoding(const Dims& dims, std::string_view item)> make);

// Makes the encodings that a spec such as "segment+learned" names, in the order in which they act. "none" and the empty
// spec give an empty list. Throws Error(usage), also for encodings that differ by layer.
std::vector<std::unique_ptr<Encoding>> make_encodings(std::string_view spec, const Dims& dims);

// ---- Operations and tables --------------------------------------------------------------------

// The amount of work for Encoding::operations: sizes of a pass, or of a part of it, in one layer.
struct Work {
    double tokens = 0;                   // fed in the pass
    double query_rows = 0, key_rows = 0; // tokens times query heads, tokens times key/value heads
    double pairs = 0;                    // of a query and a key that the mask leaves, in all query heads
    int positions = 0;                   // all positions are below this
};
// Floating-point operations. A processor computes products many times faster than the others.
struct Operations {
    double products = 0; // multiplications and additions of products of matrices and vectors
    double others = 0;   // see Encoding::operations

    double sum() const { return products + others; }
    Operations& operator+=(const Operations& other) {
        products += other.products;
        others += other.others;
        return *this;
    }
};
// The operations that one exponential, logarithm, sine or root counts for.
inline constexpr double operations_of_function = 8;

// One table of numbers with a header, for reading; see Encoding::table.
struct Table {
    std::vector<std::string> header = {};
    std::vector<std::vector<double>> rows = {};
};
// A Table whose rows the encoding computes one at a time. The encoding must outlive it.
struct TableRows {
    std::vector<std::string> header = {};
    std::int64_t count = 0;
    std::function<void(std::int64_t row, std::span<double> out)> fill = {}; // out: zeros, a number for each column
};
struct TableRequest {
    int length = 8;        // rows: positions start .. start + length - 1
    int start = 0;         // the first position
    int head = 0;          // for tables that differ by head
    int width = 8;         // columns of embed()'s input, for the default of Encoding::table
    std::string part = {}; // which table; empty is the main one, see Encoding::table_parts
    int layer = 0;         // for tables that differ by layer
};
// The table of the encoding that a spec names in a model of these sizes; in dims, d_model is enough. Trained tensors
// have their initial values (seed 1). Throws Error(usage) for a sum of encodings or none in the layer, and as
// Encoding::table does.
Table encoding_table(std::string_view spec, Dims dims, const TableRequest& request = {});

} // namespace ordo

#pragma GCC visibility pop
