// SPDX-License-Identifier: MIT
// Ordo: a transformer inference engine whose positional encoding is a part that can be replaced.
// The public interface of libordo.a. encoding.h, which it includes, says what an encoding is; training.h is for fine-tuning,
// ordo_c.h for C.
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
// calls in the process leave of the processors, one at least; one within a parallel region of the caller's; one for a quarter
// of a second at most where more have been slower, because other programs use the processors; one where more turn out to make passes of a
// small model slower. The bits are the same for any number.
// Each of n threads with a session sets omp_set_num_threads to an n-th of the cores, itself (engine/examples/threads.cpp). They wait for
// each other without keeping a processor from whoever wants it, but OpenMP's own spin as long as OMP_WAIT_POLICY and GOMP_SPINCOUNT say.
//   A child made by fork may go on using models and sessions of the thread that forked: it runs on that one thread, for
// GNU OpenMP has none of its others there; threads that the child makes itself have teams again. Sessions in which
// another thread was computing at the time of the fork are lost to it.
//   GNU OpenMP ends the process itself, with a message of its own, if it cannot make a thread (ulimit -u, memory, a
// stack too large in OMP_STACKSIZE) or has no memory for its lists: no caller can catch that. OpenBLAS maps memory for its
// threads before main (128 MB each, OPENBLAS_NUM_THREADS of them) and asks for ever where a limit that the process was
// started with refuses it; for what it takes later the library looks first, and throws Error(limit).
#pragma once

#include "encoding.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
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

// ---- Model ----------------------------------------------------------------------------------

struct LoadOptions {
    std::string encoding;        // a spec; empty: the one that the weights were trained with
    bool force_encoding = false; // allow another one than that, if only by a parameter
    std::string dtype;           // of the matrices: f32, f16, bf16, q8_0, q4_0; empty: as stored
    int context = 0;             // positions to prepare tables for; 0: the trained context. Others work, more slowly
    std::size_t max_memory = 0;  // bytes that weights may take; 0: four fifths of what this process may use
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

// Weights and tokenizer. Calls with a model that was moved from throw Error(usage).
class Model {
public:
    // Reads an Ordo safetensors file, or a directory as Hugging Face has it (config.json, safetensors, tokenizer.json).
    // Throws Error.
    static Model load(const std::filesystem::path& file, const LoadOptions& options = {});
    // The same with an encoding of the caller's own in the place of the trained one. Its tensors are
    // looked up in the file as "encoding.NAME.TENSOR", NAME being spec() up to the first ':'. What options say of
    // the encoding is ignored.
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

// What a session keeps its keys and values as. f16 takes half the memory, and q8_0, blocks of 32 bytes that share a scale, a little
// more than a quarter where heads are as wide as whole blocks (a last one is filled up); both round them.
enum class CacheType { f32, f16, q8_0 };

struct SessionOptions {
    // Tokens that fit; 0: the trained context, or what the encoding has left of it. The angles of dynamic NTK depend on
    // it.
    int capacity = 0;
    // Tokens processed at once in prefill. The logits are the same to the bit for any number.
    int chunk = 256;
    int first_position = 0; // position id of the first token
    CacheType cache = CacheType::f32;
    int axes = 1;  // ids that each position has, 1 to 16
    int input = 0; // tokens that fit into an encoder, of a model that has one; 0: its trained context
    // A layer with a window keeps only the keys that the window spans, which takes less memory. rewind() reaches less far
    // back, and a call that fails after a part of its tokens may leave the session empty.
    bool forget_past_windows = false;
};

// Observers of a session. They cannot affect the result. Either may be empty. They see each token once: tokens that a
// session computes again, because the text has become longer than the original context of LongRoPE, are not shown.
struct Watch {
    // Hidden states [n, d_model] of the tokens of a chunk, the first of which has that index: what the first layer reads (layer -1), and
    // what each layer leaves.
    std::function<void(int layer, int first, ConstView states)> states;
    // The attention of one query to the keys from first_key on: weights that sum to one, or to less beside a sink. Heads and queries
    // come in any order, and from several threads at once. It must not throw.
    std::function<void(int layer, int head, int query, int first_key, std::span<const float> weights)> weights;
};

// One sequence: its key/value cache and scratch. The constructor reserves all memory; the system provides it as the
// text grows. A session takes one call at a time: while one lasts, in what it calls back and on other threads, feed(),
// feed_all(), rewind() and a Batch's feed() are refused with Error(usage), as they are for a session that was moved
// from. A callback may move or destroy its session; the call ends on what it began with.
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
    //   Where angles depend on the length of the text (LongRoPE), its length is the greatest position after the call,
    // counted from first_position, and rows.to_come. Once it passes the original context, all tokens are computed
    // again, and once rewind() has made it shorter, likewise. After evict() the angles stay as they are until the text
    // passes it.
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
    // The same with what the head reads of every token, states [n, d_model] after the final norm, in the place of
    // logits: Error(model) if they are not finite.
    void feed_states(std::span<const Token> tokens, const TokenRows& rows,
                     const std::function<void(int first, ConstView states)>& on_states);

    // In a model that has an encoder: gives it its input, to which all that is fed from now on attends, and returns what the encoder
    // makes of it, [n, d_model] of those n that are no padding, valid until the next call. Throws what feed()
    // throws, Error(usage) for a model that has none, and for a session that is not empty. feed() is refused before
    // the first input; a call that fails leaves none. rewind() leaves it as it is.
    ConstView encode(std::span<const Token> input, const TokenRows& rows = {});

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
    // are distinct, causal, and of this model. rows: as for feed(), of each
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
    SessionOptions session;        // a capacity of 0: the prompt and max_tokens, at most the trained context
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
// Error(limit) for one that is too long, Error(model) without a tokenizer, or if the states are not finite.
std::vector<float> embed(const Model& model, std::string_view text, const EmbedOptions& options = {});

// Of the library, "0.1.0"; the macros above are that of the header.
std::string_view version();

} // namespace ordo

#pragma GCC visibility pop
