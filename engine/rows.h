// SPDX-License-Identifier: MIT
// The ground of Ordo: plain data that every part of the library passes on. It knows no Model, Session or Encoding.
// encoding.h includes it, and so does every header of the library that needs no more.
#pragma once

#if __cplusplus < 201709L
#error "Ordo's headers need C++20: compile with -std=c++20"
#endif

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#pragma GCC visibility push(default) // the only symbols that the shared library exports

namespace ordo {

using Token = std::int32_t;

// The kind of an error. The values are the exit codes of the program ordo.
enum class ErrorCode {
    failure = 1, // anything else
    usage = 2,   // a spec or an option that cannot be understood
    model = 3,   // a model file that is malformed, unsupported or does not fit its encoding
    limit = 4,   // a length, a context or the memory exceeded
    io = 5       // the operating system refused a file
};

// The reason of an error, if a caller can do something about it.
enum class ErrorReason {
    other,
    other_encoding,  // not the trained encoding: set LoadOptions::force_encoding
    prompt_too_long, // for the context: set SessionOptions::capacity or GenerateOptions::context_shift
    standard_stream  // reading standard input or writing standard output failed; only in the program ordo
};

// The library throws Error, and std::bad_alloc outside Model::load and Session, which throw Error(limit) instead. The
// text is one line: the file, the thing, the expectation and the finding.
struct Error : std::runtime_error {
    Error(ErrorCode error_code, const std::string& what, ErrorReason why = ErrorReason::other)
        : std::runtime_error(what), code(error_code), reason(why) {}
    ErrorCode code;
    ErrorReason reason;
};

// ---- The rows that a moment of an encoding is given ---------------------------------------------
// In shapes, n is the number of rows, d is d_model, and e is d_head.

// A row-major matrix of floats in memory of the caller. Row i + 1 begins stride floats after row i.
struct View {
    float* data = nullptr;
    int rows = 0;
    int cols = 0;
    std::ptrdiff_t stride = 0;

    float* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
};
// A View that is only read.
struct ConstView {
    const float* data = nullptr;
    int rows = 0;
    int cols = 0;
    std::ptrdiff_t stride = 0;

    ConstView() = default;
    ConstView(View v) : data(v.data), rows(v.rows), cols(v.cols), stride(v.stride) {} // NOLINT: a View may be read
    const float* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
};

// The position ids of some rows, [rows, axes]: any integers >= 0, also with gaps and repeats. Text has one axis. More
// axes are for places in a plane or in time (M-RoPE, Wang et al. 2024). An encoding of one axis reads the first.
class Positions {
public:
    Positions() = default;
    Positions(std::span<const int> ids, int axes = 1) : Positions(ids, axes, axes) {} // NOLINT: implicit
    Positions(const std::vector<int>& ids) : ids_(ids) {}                             // NOLINT: implicit
    // Rows of `stride` ids, of which the first are the axes. Ids that encodings derive from tokens follow these.
    Positions(std::span<const int> ids, int axes, int stride) : ids_(ids), axes_(axes), stride_(stride) {}

    // The number of rows; 0 if axes() is below 1, which every function that takes positions refuses.
    std::size_t size() const {
        return axes_ < 1 ? 0 : (ids_.size() + static_cast<std::size_t>(stride_ - axes_)) / std::size_t(stride_);
    }
    bool empty() const { return ids_.empty(); }
    int axes() const { return axes_; }
    int stride() const { return stride_; }
    // The same positions, marked if each is known to be the previous plus one, as in plain text. This saves checks.
    Positions known_consecutive(bool known) const {
        Positions same = *this;
        same.consecutive_ = known;
        return same;
    }
    bool known_consecutive() const { return consecutive_; }
    int operator[](std::integral auto row) const { return at(row, 0); }
    // A missing axis equals the first, because a text has the same positions on all axes.
    int at(std::integral auto row, int axis) const {
        return ids_[static_cast<std::size_t>(row) * static_cast<std::size_t>(stride_) +
                    static_cast<std::size_t>(axis < axes_ ? axis : 0)];
    }
    Positions subspan(std::size_t first, std::size_t rows) const {
        const auto stride = static_cast<std::size_t>(stride_);
        const std::span<const int> from = ids_.subspan(std::min(first * stride, ids_.size()));
        return Positions(from.first(std::min(rows * stride, from.size())), axes_, stride_)
            .known_consecutive(consecutive_);
    }
    // These rows with the axes that begin `first` ids after axes(); the same if they have no ids there.
    Positions derived(int first, int axes) const {
        if (stride_ == axes_ || ids_.empty()) return *this;
        return Positions(ids_.subspan(static_cast<std::size_t>(axes_ + first)), axes, stride_);
    }
    std::span<const int> ids() const { return ids_; } // all of them, row after row

private:
    std::span<const int> ids_;
    int axes_ = 1, stride_ = 1;
    bool consecutive_ = false;
};
// Position ids that are written, [rows, cols]. Row i + 1 begins stride ids after row i.
struct IdView {
    int* data = nullptr;
    int rows = 0;
    int cols = 0;
    std::ptrdiff_t stride = 0;

    int* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
};

// The rows of some tokens, for EMBED and Session::feed().
struct TokenRows {
    Positions positions = {};
    std::span<const int> segments = {}; // one for each row, or empty: all rows are of segment 0
    // One for each row, nonzero for padding, or empty: no row is padding. A row of padding uses up its position, but is
    // neither computed nor cached.
    std::span<const int> padding = {};
    // The number of rows that later calls add. A text's length, on which LongRoPE's angles depend, includes them.
    int to_come = 0;
};

// Consecutive tokens of one sequence, for POSITIONS.
struct TextRows {
    std::span<const Token> tokens = {};
    const int* before =
        nullptr;            // the ids that the encoding wrote for the token before; null at the start of a sequence
    std::uint64_t draw = 0; // a random number of the training step; 0 outside training
};

// Rows on which ROTATE acts: queries, keys and values before the cache stores them, and a head's output after MIX.
enum class Role { query, key, value, output };
// Some heads of a layer, for ROTATE. Queries and outputs have the query heads, keys and values the key/value heads.
struct HeadRows {
    int layer = 0;
    int first_head = 0, n_heads = 0; // x holds these heads next to each other, [n, n_heads * e]
    Role role = Role::query;
    Positions positions = {}; // one for each row
    View state = {};          // [n, state_floats()], as OBSERVE wrote it; no data unless reads() names a state
};

// Where SHIFT can act: on the embedding, after EMBED; on the input of a layer's attention, which OBSERVE reads; on its
// queries, keys and values, [n, (n_heads + 2 n_kv_heads) * e]; on the input of its feed-forward part.
enum class Place { embedding, attention, qkv, feed_forward };
// Some rows of one sequence, for SHIFT.
struct ShiftRows {
    Place place = Place::attention;
    int layer = 0;
    int before = 0;   // rows before them; fewer than shift_rows() only at the start of the sequence
    View inputs = {}; // [before + n, cols]: those and the rows themselves, as they were before SHIFT
};

// The parts that an encoding reads besides positions. Only the parts that it reads cost time. reads_query_state stands
// for the state of the rows of a pass, without that of earlier keys. Then the cache does not keep the state.
enum Reads : unsigned { reads_queries = 1, reads_keys = 2, reads_state = 4, reads_query_state = 8 };

// Some queries of one head, and keys of the same sequence that they attend to, for BIAS, RESCORE and MIX. The queries
// are consecutive tokens, and so are the keys. A view that reads() does not name has no data.
struct Tile {
    int layer = 0, head = 0;               // head counts query heads
    float scale = 1;                       // the factor of q.k
    int first_query = 0, first_key = 0;    // their indices in the sequence
    Positions queries = {}, keys = {};     // the positions of the queries and of the keys
    View q = {};                           // [n_queries, e], as after ROTATE
    View k = {};                           // [n_keys, e], as after ROTATE
    View query_state = {}, key_state = {}; // [n, state_floats()], as OBSERVE wrote them
    // Of an encoding with RESCORE and SINK: a number that RESCORE writes and SINK of the same query reads.
    float* rescored = nullptr;
};

// The gradients to which a backward pass adds. A view that the moment does not read has no data.
struct Gradients {
    View q = {}, k = {}, query_state = {}, key_state = {}; // of a Tile
    View state = {};                                       // ROTATE: of the states of its rows
    float* rescored = nullptr;                             // of Tile::rescored: SINK adds to it, RESCORE reads it
    std::span<const View> tensors = {}; // one for each of tensors(); if per layer, of the call's layer
};

// Observers of a session. They cannot affect the result. Each may be empty. They see each token once, even if the
// session computes it again for LongRoPE (Session::feed).
struct Watch {
    // Hidden states [n, d_model] of a chunk, whose first token has the index `first`: the input of the first layer
    // (layer -1) and the output of each layer.
    std::function<void(int layer, int first, ConstView states)> states = {};
    // The attention weights of one query for the keys from first_key on. They sum to one, or to less with a sink. Heads
    // and queries come in any order, and from several threads at once. The function must not throw.
    std::function<void(int layer, int head, int query, int first_key, std::span<const float> weights)> weights = {};
    // The same for scores, scaled and capped: before the encoding's BIAS and RESCORE, and after them. The softmax of
    // `after` gives the weights. Beyond 1,024 keys the scores of a query come in several calls.
    std::function<void(int layer, int head, int query, int first_key, std::span<const float> before,
                       std::span<const float> after)>
        scores = {};
};

// ---- The model and the tensors ----------------------------------------------------------------

// The type of a session's keys and values. f16 and bf16 take half the memory of f32; q8_0, blocks of 32 bytes that
// share a scale, a little more than a quarter. bf16 and q8_0 pad each head to a multiple of 32. All three round, f16
// least. Where the processor multiplies pairs of bf16, a bf16 cache makes prompts at depth faster.
enum class CacheType { f32, f16, q8_0, bf16 };

enum class Mask { causal, bidirectional };
// The sizes of the model that an encoding is made for, and the layers in which it acts.
struct Dims {
    int d_model = 0;
    int n_heads = 0;
    int d_head = 0;
    int n_layers = 0;
    int context = 0;    // trained context, in tokens
    int n_kv_heads = 0; // 0: as many as n_heads
    Mask mask = Mask::causal;
    std::vector<int> layers = {}; // in which the encoding acts, ascending; empty: all
    int d_embedding = 0;          // columns of the rows that EMBED changes; 0: d_model

    int embedding_cols() const { return d_embedding != 0 ? d_embedding : d_model; }
    int layer_count() const { return layers.empty() ? n_layers : static_cast<int>(layers.size()); }
    // The index of a layer among these layers, for tables with one row for each. -1: the encoding does not act in it.
    int slot(int layer) const;
};

// The values of a tensor when training starts.
struct InitialValues {
    enum class Kind { normal, uniform, constant, own };
    Kind kind = Kind::normal;
    float a = 0, b = 0.02f; // normal: mean and standard deviation; uniform: least and greatest; constant: a
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
    // "weight" is stored as "encoding.NAME.weight". If per_layer, it is "encoding.NAME.layers.N.weight", one for each
    // layer in which the encoding acts.
    std::string name = {};
    std::vector<std::int64_t> shape = {}; // rank 1 or 2
    bool trainable = true;
    InitialValues initial = {};
    bool per_layer = false;
};

} // namespace ordo

#pragma GCC visibility pop
