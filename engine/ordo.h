// SPDX-License-Identifier: MIT
// Ordo: a transformer inference engine whose positional encoding is a part that can be replaced.
// This is the whole public interface of libordo.a; it includes nothing of ours.
//
//   ordo::Model model = ordo::Model::load("weights/rope.safetensors");
//   ordo::generate(model, "Once upon a time", {}, [](std::string_view text) {
//       std::cout << text << std::flush;
//       return true; // false stops
//   });
//
// Threads: a Model is immutable once loaded and may be shared by any number of threads. A Session is
// one sequence and belongs to one thread at a time. The library runs on the OpenMP threads that its
// caller has set (omp_set_num_threads) and changes no global state: no thread counts, no locale, no
// signal handlers. It prints nothing and never exits. Errors are thrown as ordo::Error.
//   A call takes at most as many threads as are set, and fewer where they would stand in each other's way: what other
// calls in the process leave of the processors, one at least; one within a parallel region of the caller's; one for a
// quarter of a second at most where more have been slower, because other programs use the processors. The bits are the same for
// any number. Threads wait for each other without keeping a processor from whoever wants it, but OpenMP's own spin
// between calls as long as it tells them to (OMP_WAIT_POLICY, GOMP_SPINCOUNT: the program's to set).
//   A child made by fork may go on using models and sessions of the thread that forked: it runs on that one thread, for
// GNU OpenMP has none of its others there; threads that the child makes itself have teams again. Sessions in which
// another thread was computing at the time of the fork are lost to it.
//   GNU OpenMP ends the process itself, with a message of its own, if it cannot make a thread (ulimit -u, memory, a
// stack too large in OMP_STACKSIZE) or has no memory for its lists: no caller can catch that. OpenBLAS maps memory for its
// threads before main (128 MB each, OPENBLAS_NUM_THREADS of them) and asks for ever where a limit that the process was
// started with refuses it; for what it takes later the library looks first, and throws Error(limit).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#define ORDO_VERSION_MAJOR 0
#define ORDO_VERSION_MINOR 1
#define ORDO_VERSION_PATCH 0

#pragma GCC visibility push(default) // of all that the shared library holds, this alone is seen

namespace ordo {

using Token = std::int32_t;

// What went wrong, in the words of a program's exit status.
enum class ErrorCode {
    failure = 1, // anything else
    usage = 2,   // a spec or an option that cannot be understood
    model = 3,   // a model file that is malformed, unsupported or does not fit its encoding
    limit = 4,   // a length, a context or the memory exceeded
    io = 5       // the operating system refused a file
};

// All that the library throws but std::bad_alloc, which Model::load and Session make an Error(limit). The
// text is one line: the file, the thing, what was expected and what was found.
struct Error : std::runtime_error {
    Error(ErrorCode error_code, const std::string& what) : std::runtime_error(what), code(error_code) {}
    ErrorCode code;
};

// A row-major matrix of floats that somebody else owns; rows may lie apart (stride in floats).
struct View {
    float* data = nullptr;
    int rows = 0;
    int cols = 0;
    std::ptrdiff_t stride = 0;

    float* row(int i) const { return data + static_cast<std::ptrdiff_t>(i) * stride; }
};

// ---- Positional encodings -------------------------------------------------------------------

// Position ids of some rows, [rows, axes]: any integers >= 0; gaps and repeats are allowed. Text has one axis; more are
// for what lies in a plane or in time (M-RoPE, Wang et al. 2024). Who knows of one axis alone reads the first.
class Positions {
public:
    Positions() = default;
    Positions(std::span<const int> ids, int axes = 1) : ids_(ids), axes_(axes) {} // NOLINT: a list of ids is one
    Positions(const std::vector<int>& ids) : ids_(ids) {}                         // NOLINT: likewise

    std::size_t size() const { return ids_.size() / static_cast<std::size_t>(axes_); } // rows
    bool empty() const { return ids_.empty(); }
    int axes() const { return axes_; }
    // The same, where it is known that each is the one before plus one, as in plain text: nobody has to look again.
    Positions known_consecutive(bool known) const {
        Positions same = *this;
        same.consecutive_ = known;
        return same;
    }
    bool known_consecutive() const { return consecutive_; }
    int operator[](std::size_t row) const { return ids_[row * static_cast<std::size_t>(axes_)]; }
    // Axes that are not there are as the first: text is the same on all.
    int at(std::size_t row, int axis) const {
        return ids_[row * static_cast<std::size_t>(axes_) + static_cast<std::size_t>(axis < axes_ ? axis : 0)];
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

// What is known of each row of tokens.
struct TokenRows {
    Positions positions;
    std::span<const int> segments; // one for each row, or empty: all rows are of segment 0
    // Likewise, not 0 for padding, or empty: none is. A padded row takes its position, and is otherwise as if it were not there:
    // it is neither computed nor kept.
    std::span<const int> padding = {};
};

enum class Role { query, key };
enum class Mask { causal, bidirectional };

// The moments of a forward pass at which position can enter; an encoding names those it acts on.
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

// What an encoding reads of a Tile beside positions; it pays for what it names, and nobody else does.
enum Reads : unsigned { reads_queries = 1, reads_keys = 2, reads_state = 4 };

// The sizes of the model that an encoding is made for, and where in it the encoding acts.
struct Dims {
    int d_model = 0;
    int n_heads = 0;
    int d_head = 0;
    int n_layers = 0;
    int context = 0;    // trained context, in tokens
    int n_kv_heads = 0; // 0: as many as n_heads
    Mask mask = Mask::causal;
    std::vector<int> layers = {}; // those that the encoding acts in, ascending; empty: all of them

    int layer_count() const { return layers.empty() ? n_layers : static_cast<int>(layers.size()); }
    // The index among those layers, for tables of one row a layer; -1 for a layer that the encoding does not act in.
    int slot(int layer) const;
};

// What a tensor holds when training starts.
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
    // Within the encoding: "weight" is stored as "encoding.NAME.weight", or, one for each layer that the encoding acts in, as
    // "encoding.NAME.layers.N.weight".
    std::string name;
    std::vector<std::int64_t> shape; // rank 1 or 2
    bool trainable = true;
    InitialValues initial = {};
    bool per_layer = false;
};

// Some heads of a layer: query heads, or key/value heads, by the role.
struct HeadRows {
    int layer = 0;
    int first_head = 0, n_heads = 0; // x holds these heads side by side, [n, n_heads * e]
    Role role = Role::query;
    Positions positions = {}; // one for each row
};

// Some queries of one head, and the keys of one sequence that they meet: all that bias, rescore and mix may look at.
// The keys follow each other in the sequence, as do the queries. What was not asked for by reads() has no data.
struct Tile {
    int layer = 0, head = 0;            // of the query heads
    float scale = 1;                    // that q.k was multiplied by
    int first_query = 0, first_key = 0; // their indices in the sequence
    Positions queries = {}, keys = {};
    View q = {};                           // [n_queries, e], as after ROTATE
    View k = {};                           // [n_keys, e], as after ROTATE
    View query_state = {}, key_state = {}; // [n, state_floats()], what OBSERVE wrote
};

// Where the gradients of what a Tile shows are added to. What is not read has no data.
struct TileGradient {
    View q, k, query_state, key_state;
    std::span<const View> tensors; // one for each of tensors(); of a tensor per layer, that of the tile's layer
};

// What a layer asks of its encodings in some of a pass; see Encoding::operations.
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
// What one exponential, logarithm, sine or root counts for.
inline constexpr double operations_of_function = 8;

// One table of numbers with a header, for people to look at; see Encoding::table.
struct Table {
    std::vector<std::string> header;
    std::vector<std::vector<double>> rows;
};
// The same with rows that are computed one at a time, by the encoding, which must outlive it.
struct TableRows {
    std::vector<std::string> header;
    std::int64_t count = 0;
    std::function<void(std::int64_t row, std::span<double> out)> fill; // out: zeros, a number for each column
};
struct TableRequest {
    int length = 8;        // rows: positions start .. start + length - 1
    int start = 0;         // the first position
    int head = 0;          // for tables that differ by head
    int width = 8;         // columns of embed()'s input, for the default of Encoding::table
    std::string part = {}; // which table; empty is the main one, see Encoding::table_parts
    int layer = 0;         // for tables that differ by layer
};

// How a transformer learns order. An encoding overrides the moments that it acts on and leaves the
// rest alone; attention never learns which encoding it holds. After bind() and prepare() every
// method is const and may run on many threads at once; calls come once per layer and block of rows,
// never per element. n stands for rows, d for d_model, e for d_head.
//
// Each moment has its backward, which takes the gradient of the loss by the moment's output to those by its inputs
// and adds to the gradients of the tensors ("grads", one for each of tensors(); of a tensor per layer, that of the call's
// layer). The defaults throw Error(usage): an encoding that has none can run but not be trained, and is refused by name before
// the first step. (BIAS and SINK need none if they read nothing and nothing is trained.) A backward may be
// called with no rows.
class Encoding {
public:
    virtual ~Encoding() = default;

    // The canonical spec with every parameter written out, e.g. "rope:theta=10000,pairing=adjacent,width=32".
    virtual std::string spec() const = 0;
    // A set of Moment bits.
    virtual unsigned moments() const = 0;
    // A set of Reads bits.
    virtual unsigned reads() const { return 0; }
    // True if adding a constant to all positions changes nothing in the model's output.
    virtual bool shift_invariant() const { return true; }
    // ... as long as all positions stay below this (FIRE: its threshold).
    virtual int shift_invariant_below() const { return shift_invariant() ? std::numeric_limits<int>::max() : 0; }
    // Positions 0 .. max_position() - 1 can be encoded.
    virtual int max_position() const { return std::numeric_limits<int>::max(); }
    // Segments 0 .. max_segment() - 1 can be encoded.
    virtual int max_segment() const { return std::numeric_limits<int>::max(); }

    // Tensors stored with the weights. bind() hands them over in the same order (rank 1 as one row) before anything
    // else is called, once for each layer that the encoding acts in; those that are not per layer are the same each time. The
    // views stay valid as long as the encoding.
    virtual std::vector<TensorSpec> tensors() const { return {}; }
    virtual void bind(int /*layer*/, std::span<const View> /*tensors*/) {}
    // Build tables for positions 0 .. n_positions - 1, from the tensors too: called again when training has changed
    // them. Positions beyond still work, more slowly.
    virtual void prepare(int /*n_positions*/) {}
    // What stands in for this encoding in sessions of that many tokens, where angles depend on the length (dynamic NTK,
    // LongRoPE); null: this one does. It is bound and prepared like this one, and shared by sessions for which
    // its spec is the same.
    virtual std::unique_ptr<Encoding> at_length(int /*tokens*/) const { return nullptr; }

    // None of the moments may throw; each may be called for some of a pass's rows or heads at a time, by several
    // threads at once.
    // EMBED: in place on x [n, d], before the first layer.
    virtual void embed(View /*x*/, const TokenRows&) const {}
    // dx [n, d]: the gradient after embed(), in place that before it; x is what embed() was given.
    virtual void embed_backward(View dx, View x, const TokenRows&, std::span<const View> grads) const;

    // OBSERVE: reads x [n, d], what a layer's attention reads, and writes state [n, state_floats()], which the cache
    // keeps, truncates and batches. before: the state of the token before the first row, or null at the start of a
    // sequence. All rows of a sequence come in order and in one call each pass.
    virtual int state_floats() const { return 0; }
    virtual void observe(View /*x*/, int /*layer*/, Positions, const float* /*before*/, View /*state*/) const {}
    // Of a whole sequence. d_state [n, state_floats()]: the gradient of the state, which may be overwritten; dx is
    // added to.
    virtual void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                                  std::span<const View> grads) const;

    // ROTATE: in place on x [n, n_heads * e], queries or keys of one layer: of all its heads or of some.
    virtual void rotate(View /*x*/, const HeadRows&) const {}
    // dx in place: the gradient after rotate(), then that before it; x is what rotate() left.
    virtual void rotate_backward(View dx, View x, const HeadRows&, std::span<const View> grads) const;
    // What lets a cache renumber its tokens: keys that rotate() has been given, in place as if their positions were
    // less by `by`. False, and nothing done, if that is unknown: the default for an encoding that has rotate() or
    // observe(), or that adds absolute positions to the embedding. True where what lies in a cache knows no position.
    virtual bool move_keys(View keys, const HeadRows&, int by) const;

    // BIAS: added to scores [n_queries, n_keys] of one head, which are scaled and capped. Entries that the mask
    // hides may be present and are ignored afterwards.
    virtual void bias(View /*scores*/, const Tile&) const {}
    // d_scores: the gradient of the scores, zero where the mask hides them.
    virtual void bias_backward(View d_scores, const Tile&, const TileGradient&) const;

    // RESCORE: scores [1, n_keys] of one query and all the keys that it may see, biased: in place.
    virtual void rescore(View /*scores*/, const Tile&) const {}
    // d_scores in place; scores are those before.
    virtual void rescore_backward(View d_scores, View scores, const Tile&, const TileGradient&) const;

    // MIX: adds to out [n_queries, e] of one head. weights [n_queries, n_keys]: the softmax, zero where masked. A long
    // sequence may come in spans of keys, with weights that sum to one in each.
    virtual void mix(View /*out*/, View /*weights*/, const Tile&) const {}
    // d_weights is added to.
    virtual void mix_backward(View d_out, View weights, View d_weights, const Tile&, const TileGradient&) const;

    // SINK: a logit that stands in the denominator of a head's softmax and has no value.
    virtual float sink(int /*layer*/, int /*head*/) const { return -std::numeric_limits<float>::infinity(); }
    virtual void sink_backward(int layer, int head, float d_sink, std::span<const View> grads) const;

    // What a moment takes forward in one layer (EMBED: in the model), from its formula and for all heads. Beside products,
    // an addition, multiplication, division or comparison counts 1, as does a read at a place that had to be computed; a
    // function operations_of_function. What hangs on values is what scores around 0 take. Nothing for moments that it
    // does not act on; for at least one of its own more.
    virtual Operations operations(Moment, const Work&) const { return {}; }

    // Names of the tables that table() can show, the main one first.
    virtual std::vector<std::string> table_parts() const { return {"table"}; }
    // The encoding as numbers, computed in double where it can be. The default shows what embed()
    // adds to zeros, or the bias of one head, and needs tensors that are bound. Throws Error(usage) for a part it does not have.
    virtual TableRows table_rows(const TableRequest& request) const;
    // All rows at once. Throws Error(limit) if they are too many to hold.
    Table table(const TableRequest& request) const;
};

// Makes the encodings that a spec such as "segment+learned" names, to be applied left to right.
// "none" and the empty spec give an empty list. Throws Error(usage), also for one that is not the same in all layers.
std::vector<std::unique_ptr<Encoding>> make_encodings(std::string_view spec, const Dims& dims);

// ---- Model ----------------------------------------------------------------------------------

struct LoadOptions {
    std::string encoding;        // a spec; empty: the one that the weights were trained with
    bool force_encoding = false; // allow another one than that, if only by a parameter
    std::string dtype;           // of the matrices: f32, f16, bf16, q8_0, q4_0; empty: as stored
    int context = 0;             // positions to prepare tables for; 0: the trained context. Others work, more slowly
    std::size_t max_memory = 0;  // bytes that weights may take; 0: four fifths of physical memory
    std::function<void(std::string_view)> on_warning;
};

// How a token is drawn. Applied in llama.cpp's order: repetition penalty, top-k, top-p, min-p, temperature.
struct Sampling {
    float temperature = 0.8f;    // 0: greedy, ties to the lowest id
    int top_k = 40;              // 0: off
    float top_p = 0.95f;         // (0, 1]
    float min_p = 0.05f;         // [0, 1]
    float repeat_penalty = 1.0f; // > 0; 1: off
    int repeat_last_n = 64;      // tokens looked back upon; -1: all
    std::uint64_t seed = 0;
};

// Weights and tokenizer.
class Model {
public:
    // Reads an Ordo safetensors file, or a directory as Hugging Face has it (config.json, safetensors, tokenizer.json).
    // Throws Error.
    static Model load(const std::filesystem::path& file, const LoadOptions& options = {});
    // The same with an encoding of the caller's own in the place of the trained one. Its tensors are
    // looked up in the file as "encoding.NAME.TENSOR", NAME being spec() up to the first ':'. What options say of
    // the encoding is not heeded.
    static Model load(const std::filesystem::path& file, std::unique_ptr<Encoding> encoding,
                      const LoadOptions& options = {});
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;
    ~Model();

    int vocab_size() const;
    int context() const;                              // trained context, in tokens
    int max_position() const;                         // of its encodings
    std::string encoding() const;                     // canonical spec of the encoding in use
    std::string metadata(std::string_view key) const; // of the file; empty if absent. "encoding": as trained
    bool has_encoder() const;                         // takes a text of its own, see Session::encode()
    Token start_of_text() const;                      // put before a prompt, as the model's files say; -1: nothing
    Token end_of_text() const;                        // the first of those that end a text; -1: none does
    Sampling sampling() const;                        // what the model's files recommend, or the defaults

    // Text to tokens. With special, the text of a special token becomes that token. This, decode() and generate()
    // throw Error(model) without a tokenizer.
    std::vector<Token> encode(std::string_view text, bool special = false) const;
    // Tokens to bytes; may end inside a UTF-8 sequence. Throws Error(limit) for an id out of range.
    std::string decode(std::span<const Token> tokens) const;

    struct Impl;
    explicit Model(std::unique_ptr<const Impl> impl);

private:
    friend struct ModelAccess; // of the library's own parts
    std::unique_ptr<const Impl> impl_;
};

// What a session keeps its keys and values as: f16 takes half the memory, and rounds them.
enum class CacheType { f32, f16 };

struct SessionOptions {
    int capacity = 0;       // tokens that fit; 0: the trained context, or what the encoding has left of it
    int chunk = 256;        // tokens processed at once in prefill
    int first_position = 0; // position id of the first token
    CacheType cache = CacheType::f32;
    int axes = 1;  // ids that each position has, 1 to 16
    int input = 0; // tokens that fit into an encoder, of a model that has one; 0: its trained context
    // A layer with a window keeps only the keys that the window spans, which takes less memory. rewind() reaches less far
    // back, and a call that fails after a part of its tokens may leave the session empty.
    bool forget_past_windows = false;
};

// Who looks on while a session computes; nothing is to be changed. Either may be empty. Looking on at states changes no
// bit. To show weights, rows of scores stay whole that are computed in spans otherwise (one query, more than 512 keys),
// which may change the last bits.
struct Watch {
    // Hidden states [n, d_model] of the tokens of a chunk, the first of which has that index: what the first layer reads (layer -1), and
    // what each layer leaves.
    std::function<void(int layer, int first, View states)> states;
    // The attention of one query to the keys from first_key on: weights that sum to one, or to less beside a sink. Heads and queries
    // come in any order, and from several threads at once. It must not throw.
    std::function<void(int layer, int head, int query, int first_key, std::span<const float> weights)> weights;
};

// One sequence: its key/value cache and scratch. All memory is allocated by the constructor. A session takes one call
// at a time: while one lasts, in what it calls back and on other threads, feed(), feed_all(), rewind() and a Batch's
// feed() are refused with Error(usage), as they are for a session that was moved from. A callback may move or
// destroy its session; the call ends on what it began with.
class Session {
public:
    // The model must outlive the session; it may be moved. Throws Error(limit) if the encoding cannot reach the
    // capacity, if that is more than 2^22 tokens, or if memory does not suffice, Error(usage) for an option out of
    // its range.
    explicit Session(const Model& model, const SessionOptions& options = {});
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    ~Session();

    // Appends tokens (at least one) and returns the logits after the last, [vocab_size], valid until
    // the next call. rows: segments, one for each token, or none: all are of segment 0; positions, likewise, or none: each
    // token's is the one before plus one. Throws Error(limit) for a token, segment or position out of
    // range or a full cache, Error(usage) for no tokens or another number of segments or positions, Error(model) if a layer
    // yields values that are not finite; the session is then as before the call. A bidirectional model takes its whole input in one
    // call, whatever the chunk: Error(usage) if the session is not empty. Padding is left out; a token that is none is
    // expected, and the logits are those after the last such.
    std::span<const float> feed(std::span<const Token> tokens, const TokenRows& rows = {});
    std::span<const float> feed(std::span<const Token> tokens, std::span<const int> segments) {
        return feed(tokens, TokenRows{{}, segments});
    }
    // The same, handing the logits after every token that is no padding to the callback: rows [n, vocab_size] of
    // successive chunks. first is the index in tokens of row 0. The memory is the session's.
    void feed_all(std::span<const Token> tokens, const TokenRows& rows,
                  const std::function<void(int first, View logits)>& on_logits);
    void feed_all(std::span<const Token> tokens, std::span<const int> segments,
                  const std::function<void(int first, View logits)>& on_logits) {
        feed_all(tokens, TokenRows{{}, segments}, on_logits);
    }
    // The same with what the head reads of every token, states [n, d_model] after the final norm, in the place of logits.
    void feed_states(std::span<const Token> tokens, const TokenRows& rows,
                     const std::function<void(int first, View states)>& on_states);

    // In a model that has an encoder: gives it its input, to which all that is fed from now on attends, and returns what the encoder
    // makes of it, [n, d_model] of those n that are no padding, valid until the next call. Throws what feed()
    // throws, Error(usage) for a model that has none, and for a session that is not empty. feed() is refused before
    // the first input; a call that fails leaves none. rewind() leaves it as it is.
    View encode(std::span<const Token> input, const TokenRows& rows = {});

    // Who looks on from now on; an empty Watch: nobody. An encoder's layers and cross-attention are not shown.
    void watch(Watch watch);

    int size() const; // tokens in the cache
    int capacity() const;
    // Forgets all but the first size tokens. Throws Error(limit) if there are fewer, Error(usage) for
    // a bidirectional model, where every token depends on all, unless to forget all or none, and where layers with a
    // window have forgotten what the next token would see.
    void rewind(int size);
    bool can_rewind(int size) const; // whether rewind() would do it; false for a session that was moved from

    // Whether evict() can renumber: the encodings say so of their keys (rope, xpos, and what biases scores; learned and
    // sinusoidal do not), the model is causal, and positions have one axis.
    bool can_evict() const;
    // Forgets count tokens from first on. Those that follow move up, in the cache and in their positions, by as much as
    // the forgotten took; what they have learned from these stays in them, so that a text goes on in the same cache
    // (StreamingLLM, Xiao et al. 2023, arXiv 2309.17453). Where a layer with a window has forgotten some of those before
    // `first`, its queries see those that are left. Throws Error(limit) if there are fewer, Error(usage) if it
    // cannot, or if positions would fall below 0.
    void evict(int first, int count);

    struct Impl;

private:
    friend class Batch;
    std::shared_ptr<Impl> impl_; // shared with a call that is under way
};

// Several sequences of one model that move on together: the weights are read once for all of them.
class Batch {
public:
    // Memory for the given number of sessions at once, each of at most max_tokens (0: the trained
    // context), is allocated here. The model must outlive the batch. Throws Error(limit), Error(usage).
    Batch(const Model& model, int max_sessions, int max_tokens = 0);
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    ~Batch();

    // Appends tokens[i] to *sessions[i] and returns the logits after each, [n, vocab_size], valid until
    // the next call: what sessions[i]->feed() would have returned, up to the order of sums. The sessions
    // are distinct, causal, of this model, and of one length if its encodings turn by it. rows: as for feed(), of each
    // token, none of which may be padding. Nobody who watches a session sees this. Throws what feed() throws; all sessions are then as before the call.
    View feed(std::span<Session* const> sessions, std::span<const Token> tokens, const TokenRows& rows = {});
    View feed(std::span<Session* const> sessions, std::span<const Token> tokens, std::span<const int> segments) {
        return feed(sessions, tokens, TokenRows{{}, segments});
    }

    struct Impl;

private:
    std::shared_ptr<Impl> impl_; // as of a Session
};

// ---- Generation -----------------------------------------------------------------------------

// Draws tokens. The n-th draw of a seed is the same whatever came before: the random numbers come
// from Philox4x32-10 (Salmon et al. 2011) with the seed as key and n as counter.
class Sampler {
public:
    // Throws Error(usage) for a value out of its range.
    Sampler(const Sampling& sampling, int vocab_size);
    // logits [vocab_size]; history: the tokens so far, prompt included; n: the number of the draw. A
    // token with the logit -inf is not drawn. Throws Error(model) for a NaN, an infinity, or all -inf.
    Token sample(std::span<const float> logits, std::span<const Token> history, std::uint64_t n);

private:
    Sampling sampling_;
    std::vector<float> scores_;       // [vocab_size]
    std::vector<std::int32_t> order_; // [vocab_size]
};

struct GenerateOptions {
    int max_tokens = 128; // -1: until the end of text or a full context, if that does not shift
    Sampling sampling;
    SessionOptions session;
    std::vector<std::string> stop; // texts at which to stop; they are not emitted
    bool special = false;          // let special tokens in the prompt be written as text
    // When the context is full, go on: the first `keep` tokens stay (-1: the prompt), and half of the others are
    // evicted; where the session cannot, it begins anew with those that stay. Of a longer prompt the middle is left out.
    bool context_shift = false;
    int keep = 4;
};

enum class StopReason { max_tokens, end_of_text, stop_text, full, callback };

struct Generation {
    std::string text; // the continuation, without the prompt
    StopReason reason = StopReason::max_tokens;
    int prompt_tokens = 0;
    int new_tokens = 0;
    int left_out = 0; // tokens of a prompt longer than the context
    int shifts = 0;   // of the context
    double prefill_seconds = 0;
    double decode_seconds = 0;
};

// Continues a prompt, which is preceded by the end-of-text token if there is one, as documents are in
// training. on_text receives the continuation piece by piece, whole UTF-8 sequences only (one that is
// cut short by the end is left out), and stops it by returning false. Throws Error(limit) for a prompt
// longer than the session, unless that shifts, Error(usage) for a keep that leaves no room to shift in, Error(usage) for a model that is not causal, an empty stop text, or nothing to begin with.
Generation generate(const Model& model, std::string_view prompt, const GenerateOptions& options = {},
                    const std::function<bool(std::string_view)>& on_text = {});

// ---- Models that read a text as a whole -----------------------------------------------------
// Masked tokens: Devlin et al. 2018, section 3.1. Vectors of texts: Reimers and Gurevych 2019, arXiv 1908.10084, section 3.

struct Candidate {
    Token token = -1;
    float probability = 0; // of all tokens of the vocabulary
};
// A masked token of a text, and what the model would put there, the likeliest first; ties go to the lowest id.
struct Blank {
    int index = 0; // in the text's tokens
    std::vector<Candidate> best;
};
struct FilledText {
    std::vector<Token> tokens; // with what the tokenizer puts around a text; [MASK] where there is a blank
    std::vector<Blank> blanks;
};
// Predicts each mask token of a text, in which special tokens may be written: "The [MASK] sat." Throws Error(usage) for a
// model that is not bidirectional, or a text without a mask token, Error(limit) for one that is too long, Error(model)
// without a tokenizer, or one that knows no mask token.
FilledText fill(const Model& model, std::string_view text, int candidates = 5);

enum class Pooling { mean, first, last }; // of the states of a text's tokens: [CLS] is the first

struct EmbedOptions {
    Pooling pooling = Pooling::mean;
    bool normalised = true; // to a length of 1
};
// A vector [d_model] for a text: the states of its tokens that the head reads, or what an encoder makes of them, pooled.
// The tokens are what the tokenizer puts around the text, too. Throws Error(usage) for a text without tokens,
// Error(limit) for one that is too long, Error(model) without a tokenizer.
std::vector<float> embed(const Model& model, std::string_view text, const EmbedOptions& options = {});

// Of the library, "0.1.0"; the macros above are that of the header.
std::string_view version();

} // namespace ordo

#pragma GCC visibility pop
