// SPDX-License-Identifier: MIT
// A positional encoding overrides the moments of a forward pass that it acts on, and names them:
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
// Model::load(file, std::make_unique<Slope>()) puts it into a model; engine/examples/own_encoding.cpp is a whole
// program. Part of ordo.h, which includes this file. engine/encoding has one file for each encoding of Ordo.
#pragma once

#if __cplusplus < 201709L
#error "Ordo's headers need C++20: compile with -std=c++20"
#endif

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace ordo {

// The moments of a forward pass at which position can enter:
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

// ---- The rows that a moment is given ----------------------------------------------------------

// A row-major matrix of floats in memory of the caller; rows may lie apart (stride in floats).
struct View {
    float* data = nullptr;
    int rows = 0;
    int cols = 0;
    std::ptrdiff_t stride = 0;

    float* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
};
// The same, for reading.
struct ConstView {
    const float* data = nullptr;
    int rows = 0;
    int cols = 0;
    std::ptrdiff_t stride = 0;

    ConstView() = default;
    ConstView(View v) : data(v.data), rows(v.rows), cols(v.cols), stride(v.stride) {} // NOLINT: a View may be read
    const float* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
};

// Position ids of some rows, [rows, axes]: any integers >= 0; gaps and repeats are allowed. Text has one axis. More
// axes are for places in a plane or in time (M-RoPE, Wang et al. 2024); an encoding of one axis reads the first.
class Positions {
public:
    Positions() = default;
    Positions(std::span<const int> ids, int axes = 1) : ids_(ids), axes_(axes) {} // NOLINT: a list of ids is one
    Positions(const std::vector<int>& ids) : ids_(ids) {}                         // NOLINT: likewise

    // Rows; none if the number of axes makes no sense, which every taker of positions refuses.
    std::size_t size() const { return axes_ < 1 ? 0 : ids_.size() / static_cast<std::size_t>(axes_); }
    bool empty() const { return ids_.empty(); }
    int axes() const { return axes_; }
    // The same, if each is known to be the one before plus one, as in plain text: no later check is needed.
    Positions known_consecutive(bool known) const {
        Positions same = *this;
        same.consecutive_ = known;
        return same;
    }
    bool known_consecutive() const { return consecutive_; }
    int operator[](std::integral auto row) const { return at(row, 0); }
    // An axis that is missing equals the first: text is the same on all.
    int at(std::integral auto row, int axis) const {
        return ids_[static_cast<std::size_t>(row) * static_cast<std::size_t>(axes_) +
                    static_cast<std::size_t>(axis < axes_ ? axis : 0)];
    }
    Positions subspan(std::size_t first, std::size_t rows) const {
        const auto axes = static_cast<std::size_t>(axes_);
        return Positions(ids_.subspan(first * axes, rows * axes), axes_).known_consecutive(consecutive_);
    }
    std::span<const int> ids() const { return ids_; }

private:
    std::span<const int> ids_;
    int axes_ = 1;
    bool consecutive_ = false;
};

// Tokens, for EMBED.
struct TokenRows {
    Positions positions = {};
    std::span<const int> segments = {}; // one for each row, or empty: all rows are of segment 0
    // Likewise, nonzero for padding, or empty: no row is padding. A padded row takes its position; otherwise it is
    // neither computed nor kept.
    std::span<const int> padding = {};
    // Rows that later calls bring: where angles depend on the length of the text (LongRoPE), these rows count already.
    int to_come = 0;
};

enum class Role { query, key };
// Some heads of a layer, for ROTATE: query heads, or key/value heads, by the role.
struct HeadRows {
    int layer = 0;
    int first_head = 0, n_heads = 0; // x holds these heads next to each other, [n, n_heads * e]
    Role role = Role::query;
    Positions positions = {}; // one for each row
};

// What an encoding reads of a Tile besides positions. Only an encoding that reads something pays for it.
enum Reads : unsigned { reads_queries = 1, reads_keys = 2, reads_state = 4 };

// Some queries of one head, and the keys of one sequence that they attend to, for BIAS, RESCORE and MIX. The keys
// follow each other in the sequence, as do the queries. A view that reads() does not name has no data.
struct Tile {
    int layer = 0, head = 0;            // of the query heads
    float scale = 1;                    // that q.k was multiplied by
    int first_query = 0, first_key = 0; // their indices in the sequence
    Positions queries = {}, keys = {};
    View q = {};                           // [n_queries, e], as after ROTATE
    View k = {};                           // [n_keys, e], as after ROTATE
    View query_state = {}, key_state = {}; // [n, state_floats()], as OBSERVE wrote them
};

// A backward adds the gradients of a Tile's views to these. A view that reads() does not name has no data.
struct TileGradient {
    View q = {}, k = {}, query_state = {}, key_state = {};
    std::span<const View> tensors = {}; // one for each of tensors(); of a tensor per layer, that of the tile's layer
};

// ---- The model and the tensors ----------------------------------------------------------------

enum class Mask { causal, bidirectional };
// The sizes of the model that an encoding is made for, and the layers that it acts in.
struct Dims {
    int d_model = 0;
    int n_heads = 0;
    int d_head = 0;
    int n_layers = 0;
    int context = 0;    // trained context, in tokens
    int n_kv_heads = 0; // 0: as many as n_heads
    Mask mask = Mask::causal;
    std::vector<int> layers = {}; // that the encoding acts in, ascending; empty: all

    int layer_count() const { return layers.empty() ? n_layers : static_cast<int>(layers.size()); }
    // The index among those layers, for tables of one row a layer; -1 for a layer that the encoding does not act in.
    int slot(int layer) const;
};

// The values of a tensor when training starts.
struct InitialValues {
    enum class Kind { normal, uniform, constant, own };
    Kind kind = Kind::normal;
    float a = 0, b = 0.02f; // mean and standard deviation; least and greatest; the constant in a
    std::function<void(std::span<float> out, std::uint64_t seed)> own = {};

    static InitialValues normal(float deviation, float mean = 0) { return {Kind::normal, mean, deviation}; }
    static InitialValues uniform(float least, float most) { return {Kind::uniform, least, most}; }
    static InitialValues constant(float value) { return {Kind::constant, value, 0}; }
    static InitialValues from(std::function<void(std::span<float>, std::uint64_t)> own) {
        return {Kind::own, 0, 0, std::move(own)};
    }
};

// A tensor that an encoding wants stored with the weights.
struct TensorSpec {
    // "weight" is stored as "encoding.NAME.weight"; a tensor per layer as "encoding.NAME.layers.N.weight", one for each
    // layer that the encoding acts in.
    std::string name = {};
    std::vector<std::int64_t> shape = {}; // rank 1 or 2
    bool trainable = true;
    InitialValues initial = {};
    bool per_layer = false;
};

// ---- The encoding -----------------------------------------------------------------------------

struct Operations;
struct Work;
struct Table;
struct TableRows;
struct TableRequest;

// How a transformer learns order. Attention never learns which encoding it holds. After bind() and prepare() every
// method is const and may run on many threads at once. Calls come once per layer and some rows, never per element. n
// stands for rows, d for d_model, e for d_head. No moment may throw; each may be called for some of a pass's rows or
// heads at a time.
//
// Each moment has a backward. Given the gradient of the moment's output, it computes the gradients of the inputs and
// adds those of the tensors to `grads` (one for each of tensors(); of a tensor per layer, that of the call's layer). An
// encoding names its backwards in gradients(); the defaults throw Error(usage).
class Encoding {
public:
    virtual ~Encoding() = default;

    // The canonical spec with every parameter written out, e.g. "rope:theta=10000,pairing=adjacent,width=32".
    virtual std::string spec() const = 0;
    // A set of Moment bits.
    virtual unsigned moments() const = 0;
    // The moments that have a backward. Training needs one of each moment, except of a BIAS that reads nothing or a
    // SINK if no tensor is trained; an encoding without it is refused by name before the first step.
    virtual unsigned gradients() const { return 0; }

    // EMBED: in place on x [n, d], before the first layer.
    virtual void embed(View /*x*/, const TokenRows&) const {}
    // dx [n, d]: the gradient after embed(), in place that before it; x is the input of embed().
    virtual void embed_backward(View dx, View x, const TokenRows&, std::span<const View> grads) const;

    // ROTATE: in place on x [n, n_heads * e], queries or keys of one layer: of all its heads or of some.
    virtual void rotate(View /*x*/, const HeadRows&) const {}
    // dx in place: the gradient after rotate(), then that before it; x is the output of rotate().
    virtual void rotate_backward(View dx, View x, const HeadRows&, std::span<const View> grads) const;
    // False for a role whose rows rotate() leaves as they are.
    virtual bool rotates(Role) const { return (moments() & moment_rotate) != 0; }

    // BIAS: added to scores [n_queries, n_keys] of one head, which are scaled and capped. Entries that the mask
    // hides may be present and are ignored afterwards.
    virtual void bias(View /*scores*/, const Tile&) const {}
    // d_scores: the gradient of the scores, zero where the mask hides them.
    virtual void bias_backward(View d_scores, const Tile&, const TileGradient&) const;

    // OBSERVE: reads x [n, d], the input of a layer's attention, and writes state [n, state_floats()], which the cache
    // keeps, truncates and batches. before: the state of the token before the first row, or null at the start of a
    // sequence. All rows of a sequence come in order and in one call each pass.
    virtual void observe(View /*x*/, int /*layer*/, Positions, const float* /*before*/, View /*state*/) const {}
    // Of a whole sequence. d_state [n, state_floats()]: the gradient of the state, which may be overwritten; dx is
    // added to.
    virtual void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                                  std::span<const View> grads) const;
    virtual int state_floats() const { return 0; }

    // RESCORE: in place on scores [1, n_keys] of one query and all the keys that it may see, biased.
    virtual void rescore(View /*scores*/, const Tile&) const {}
    // d_scores in place; scores are the input of rescore().
    virtual void rescore_backward(View d_scores, View scores, const Tile&, const TileGradient&) const;

    // MIX: adds to out [n_queries, e] of one head. weights [n_queries, n_keys]: the softmax, zero where masked. A long
    // sequence may come in chunks of keys, with weights that sum to one in each.
    virtual void mix(View /*out*/, View /*weights*/, const Tile&) const {}
    // d_weights is added to.
    virtual void mix_backward(View d_out, View weights, View d_weights, const Tile&, const TileGradient&) const;

    // SINK: a logit that stands in the denominator of a head's softmax and has no value.
    virtual float sink(int /*layer*/, int /*head*/) const { return -std::numeric_limits<float>::infinity(); }
    virtual void sink_backward(int layer, int head, float d_sink, std::span<const View> grads) const;

    // A set of Reads bits, for BIAS, RESCORE and MIX.
    virtual unsigned reads() const { return 0; }

    // Tensors stored with the weights. bind() hands them over in the same order (rank 1 as one row) before anything
    // else is called, once for each layer that the encoding acts in; tensors that are not per layer are the same each
    // time. The views stay valid as long as the encoding.
    virtual std::vector<TensorSpec> tensors() const { return {}; }
    virtual void bind(int /*layer*/, std::span<const View> /*tensors*/) {}
    // Build tables for positions 0 .. n_positions - 1, from the tensors too: called again when training has changed
    // them. Positions beyond still work, more slowly.
    virtual void prepare(int /*n_positions*/) {}

    // True if adding a constant to all positions changes nothing in the model's output.
    virtual bool shift_invariant() const { return true; }
    // Positions 0 .. max_position() - 1 can be encoded.
    virtual int max_position() const { return std::numeric_limits<int>::max(); }

    // The operations of a moment in one layer (EMBED: in the model), from its formula and for all heads. Besides
    // products, an addition, multiplication, division or comparison counts 1, as does a read at a computed place; a
    // function counts operations_of_function. Assume scores near 0 for data-dependent costs. Return 0 for unused
    // moments and a positive count for at least one used moment.
    virtual Operations operations(Moment, const Work&) const;

    // The encoding as numbers, computed in double where it can be. The default shows what embed() adds to zeros, or the
    // bias of one head, and needs tensors that are bound. Throws Error(usage) for a part that is not one of
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
    // In place on keys that rotate() has been given: as if their positions were less by `by` (rope, xpos).
    virtual void move_keys(View /*keys*/, const HeadRows&, int /*by*/) const {}
    // An encoding that replaces this one at a length of so many tokens, if angles depend on the length (dynamic NTK,
    // LongRoPE); null: none does. It is bound and prepared like this one, and shared by sessions for which its spec is
    // the same.
    virtual std::unique_ptr<Encoding> at_length(int /*tokens*/) const { return nullptr; }
    // By default at_length() is given the capacity of the session, which stays. An encoding that changes once, where a
    // text passes this length, is given the length of the text, and its session then computes all tokens again
    // (LongRoPE: the original context).
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

// An encoding of the caller's; a unique_ptr becomes one. Functions that take it throw Error(usage) for a null pointer,
// and if moments() lacks the moment of a method that its class overrides.
struct OwnEncoding {
    template <std::derived_from<Encoding> T>
    OwnEncoding(std::unique_ptr<T> own) // NOLINT: implicit
        : encoding(std::move(own)), overridden(overridden_moments<T>()) {}
    std::unique_ptr<Encoding> encoding;
    unsigned overridden; // moments
};

// Gives an encoding of the caller's a name in specs for the rest of the process: make_encodings(), LoadOptions and
// Trainer then make it by name. make gets the sizes of the model and the item of the spec, such as "slope:rate=0.1";
// the spec() of its result begins with the name. Throws Error(usage) for a name that is taken or is not [a-z0-9-].
void register_encoding(std::string_view name, std::function<OwnEncoding(const Dims& dims, std::string_view item)> make);

// Makes the encodings that a spec such as "segment+learned" names, to be applied left to right.
// "none" and the empty spec give an empty list. Throws Error(usage), also for encodings that differ by layer.
std::vector<std::unique_ptr<Encoding>> make_encodings(std::string_view spec, const Dims& dims);

// ---- Operations and tables --------------------------------------------------------------------

// The work of a layer's encodings in some of a pass; see Encoding::operations.
struct Work {
    double tokens = 0;                   // that are fed
    double query_rows = 0, key_rows = 0; // tokens times query heads, tokens times key/value heads
    double pairs = 0;                    // (query, key) that the mask leaves, of all query heads
    int positions = 0;                   // all are below
};
// Floating-point operations. A processor is far from equally good at both kinds.
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
// One exponential, logarithm, sine or root counts for so many.
inline constexpr double operations_of_function = 8;

// One table of numbers with a header, for reading; see Encoding::table.
struct Table {
    std::vector<std::string> header = {};
    std::vector<std::vector<double>> rows = {};
};
// The same with rows that are computed one at a time, by the encoding, which must outlive it.
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
