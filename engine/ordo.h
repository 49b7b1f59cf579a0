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
// quarter of a second where more have been slower, because other programs use the processors. The bits are the same for
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

// Position ids, one for each row. Any integers >= 0; gaps and repeats are allowed.
using Positions = std::span<const int>;

// What the embedding stage knows of each row.
struct TokenRows {
    Positions positions;
    std::span<const int> segments; // one for each row, or empty: all rows are of segment 0
};

enum class Role { query, key };

// The moments of a forward pass at which position can enter; an encoding names those it acts on.
//   ids > embedding > EMBED > n x { norm > q,k,v > ROTATE > cache > q.k*scale > BIAS > mask > softmax > .v > wo ... }
enum Moment : unsigned { moment_embed = 1, moment_rotate = 2, moment_bias = 4 };

// The sizes of the model that an encoding is made for.
struct Dims {
    int d_model = 0;
    int n_heads = 0;
    int d_head = 0;
    int n_layers = 0;
    int context = 0; // trained context, in tokens
};

// A tensor that an encoding wants stored with the weights.
struct TensorSpec {
    std::string name;                // within the encoding: "weight" is stored as "encoding.NAME.weight"
    std::vector<std::int64_t> shape; // rank 1 or 2
    bool trainable = true;
    float init_std = 0.02f; // of the normal distribution that training starts from
};

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
};

// How a transformer learns order. An encoding overrides the moments that it acts on and leaves the
// rest alone; attention never learns which encoding it holds. After bind() and prepare() every
// method is const and may run on many threads at once; calls come once per layer and block of rows,
// never per element. n stands for rows, d for d_model, e for d_head.
class Encoding {
public:
    virtual ~Encoding() = default;

    // The canonical spec with every parameter written out, e.g. "rope:theta=10000,pairing=adjacent,width=32".
    virtual std::string spec() const = 0;
    // A set of Moment bits.
    virtual unsigned moments() const = 0;
    // True if adding a constant to all positions changes nothing in the model's output.
    virtual bool shift_invariant() const { return true; }
    // Positions 0 .. max_position() - 1 can be encoded.
    virtual int max_position() const { return std::numeric_limits<int>::max(); }
    // Segments 0 .. max_segment() - 1 can be encoded.
    virtual int max_segment() const { return std::numeric_limits<int>::max(); }

    // Tensors stored with the weights; bind() hands them over in the same order before anything else
    // is called (rank 1 as one row). The views stay valid as long as the encoding.
    virtual std::vector<TensorSpec> tensors() const { return {}; }
    virtual void bind(std::span<const View> /*tensors*/) {}
    // Build tables for positions 0 .. n_positions - 1. Positions beyond still work, more slowly.
    virtual void prepare(int /*n_positions*/) {}

    // None of the three moments may throw; each may be called for some of a pass's rows or heads at a time,
    // by several threads at once.
    // EMBED: in place on x [n, d], before the first layer.
    virtual void embed(View /*x*/, const TokenRows&) const {}
    // dx [n, d] holds the gradient after embed() and receives the one before it; x is what embed()
    // was given; grads (one for each of tensors()) are added to.
    virtual void embed_backward(View /*dx*/, View /*x*/, const TokenRows&, std::span<const View> /*grads*/) const {}

    // ROTATE: in place on x [n, n_heads * e], queries or keys of one layer: of all its heads or of some.
    virtual void rotate(View /*x*/, int /*n_heads*/, Positions, Role, int /*layer*/) const {}
    // The adjoint, in place on the gradient.
    virtual void rotate_backward(View /*dx*/, int /*n_heads*/, Positions, Role, int /*layer*/) const {}

    // BIAS: added to a tile of scaled scores [n_queries, n_keys] of one head. Entries that the mask
    // hides may be present and are ignored afterwards.
    virtual void bias(View /*scores*/, int /*layer*/, int /*head*/, Positions /*queries*/, Positions /*keys*/) const {}

    // Names of the tables that table() can show, the main one first.
    virtual std::vector<std::string> table_parts() const { return {"table"}; }
    // The encoding as numbers, computed in double where it can be. The default shows what embed()
    // adds to zeros, or the bias of one head. Throws Error(usage) for a part it does not have.
    virtual TableRows table_rows(const TableRequest& request) const;
    // All rows at once. Throws Error(limit) if they are too many to hold.
    Table table(const TableRequest& request) const;
};

// Makes the encodings that a spec such as "segment+learned" names, to be applied left to right.
// "none" and the empty spec give an empty list. Throws Error(usage).
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

// Weights and tokenizer.
class Model {
public:
    // Reads an Ordo safetensors file. Throws Error.
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
    std::string metadata(std::string_view key) const; // of the file; empty if absent
    Token end_of_text() const;                        // -1 if the tokenizer has none

    // Text to tokens. With special, the text of a special token becomes that token. This, decode() and generate()
    // throw Error(model) without a tokenizer.
    std::vector<Token> encode(std::string_view text, bool special = false) const;
    // Tokens to bytes; may end inside a UTF-8 sequence. Throws Error(limit) for an id out of range.
    std::string decode(std::span<const Token> tokens) const;

    struct Impl;
    const Impl& impl() const { return *impl_; }
    explicit Model(std::unique_ptr<const Impl> impl);

private:
    std::unique_ptr<const Impl> impl_;
};

// What a session keeps its keys and values as: f16 takes half the memory, and rounds them.
enum class CacheType { f32, f16 };

struct SessionOptions {
    int capacity = 0;       // tokens that fit; 0: the trained context, or what the encoding has left of it
    int chunk = 256;        // tokens processed at once in prefill
    int first_position = 0; // position id of the first token
    CacheType cache = CacheType::f32;
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
    // the next call. segments: one for each token, or empty. Throws Error(limit) for a token or segment out of
    // range or a full cache, Error(usage) for no tokens or another number of segments, Error(model) if a layer
    // yields values that are not finite; the session is then as before the call. A bidirectional model takes its whole input in one call, whatever
    // the chunk: Error(usage) if the session is not empty.
    std::span<const float> feed(std::span<const Token> tokens, std::span<const int> segments = {});
    // The same, handing the logits after every token to the callback: rows [n, vocab_size] of
    // successive chunks. first is the index in tokens of row 0. The memory is the session's.
    void feed_all(std::span<const Token> tokens, std::span<const int> segments,
                  const std::function<void(int first, View logits)>& on_logits);

    int size() const; // tokens in the cache
    int capacity() const;
    // Forgets all but the first size tokens. Throws Error(limit) if there are fewer, Error(usage) for
    // a bidirectional model, where every token depends on all, unless to forget all or none.
    void rewind(int size);

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
    // are distinct, causal, and of this model. segments: one for each token, or empty. Throws what feed()
    // throws; all sessions are then as before the call.
    View feed(std::span<Session* const> sessions, std::span<const Token> tokens, std::span<const int> segments = {});

    struct Impl;

private:
    std::shared_ptr<Impl> impl_; // as of a Session
};

// ---- Generation -----------------------------------------------------------------------------

// Applied in llama.cpp's order: repetition penalty, top-k, top-p, min-p, temperature.
struct Sampling {
    float temperature = 0.8f;    // 0: greedy, ties to the lowest id
    int top_k = 40;              // 0: off
    float top_p = 0.95f;         // (0, 1]
    float min_p = 0.05f;         // [0, 1]
    float repeat_penalty = 1.0f; // > 0; 1: off
    int repeat_last_n = 64;      // tokens looked back upon; -1: all
    std::uint64_t seed = 0;
};

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
    int max_tokens = 128; // -1: until the end of text or a full context
    Sampling sampling;
    SessionOptions session;
    std::vector<std::string> stop; // texts at which to stop; they are not emitted
    bool special = false;          // let special tokens in the prompt be written as text
};

enum class StopReason { max_tokens, end_of_text, stop_text, full, callback };

struct Generation {
    std::string text; // the continuation, without the prompt
    StopReason reason = StopReason::max_tokens;
    int prompt_tokens = 0;
    int new_tokens = 0;
    double prefill_seconds = 0;
    double decode_seconds = 0;
};

// Continues a prompt, which is preceded by the end-of-text token if there is one, as documents are in
// training. on_text receives the continuation piece by piece, whole UTF-8 sequences only (one that is
// cut short by the end is left out), and stops it by returning false. Throws Error(limit) for a prompt
// longer than the session, Error(usage) for a model that is not causal, an empty stop text, or nothing to begin with.
Generation generate(const Model& model, std::string_view prompt, const GenerateOptions& options = {},
                    const std::function<bool(std::string_view)>& on_text = {});

// "0.1.0"
std::string_view version();

} // namespace ordo
