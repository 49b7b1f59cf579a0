// SPDX-License-Identifier: MIT
// Ordo: a transformer inference engine with a replaceable positional encoding. This is the public interface of
// libordo.a. It includes encoding.h, which describes encodings; training.h is for fine-tuning, and ordo_c.h is for C.
//
//   ordo::Model model = ordo::Model::load("weights/rope.safetensors");
//   ordo::generate(model, "Once upon a time", {}, [](std::string_view text) {
//       std::cout << text << std::flush;
//       return true; // false stops
//   });
//
// Threads: a loaded Model is immutable, and any number of threads may share it. A Session is one sequence and belongs
// to one thread at a time. The library runs on the OpenMP threads of its caller (omp_set_num_threads). It changes no
// global state: no thread counts, no locale, no signal handlers. It prints nothing and never exits. It throws
// ordo::Error.
//   A call uses at most the number of threads that is set. It uses fewer if other calls in the process take processors,
// and one inside a parallel region of the caller. It also uses one where one is faster: for the passes of a small
// model, and for at most a quarter of a second when other programs take processors. The bits are the same for any
// number.
//   If each of n threads has a session, each calls omp_set_num_threads() with an n-th of the cores
// (engine/examples/threads.cpp). Waiting threads yield the CPU, but OpenMP's own threads spin as OMP_WAIT_POLICY and
// GOMP_SPINCOUNT say.
//   After a fork, the child may use the models and sessions of the thread that forked. It runs on that one thread,
// because GNU OpenMP has no others there. New threads of the child can use several again. The child cannot use
// sessions in which another thread was computing during the fork.
//   GNU OpenMP ends the process, with its own message, if it cannot create a thread (ulimit -u, memory, a stack too
// large in OMP_STACKSIZE) or has no memory for its lists. No caller can catch that. OpenBLAS maps memory for its
// threads before main (128 MB each, OPENBLAS_NUM_THREADS of them), and retries for ever if a limit of the process
// refuses it. Before later allocations of OpenBLAS, the library checks the limit and throws Error(limit).
#pragma once

#include "encoding.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#define ORDO_VERSION_MAJOR 0
#define ORDO_VERSION_MINOR 1
#define ORDO_VERSION_PATCH 0

#pragma GCC visibility push(default)

namespace ordo {

// ---- Model ----------------------------------------------------------------------------------

struct LoadOptions {
    std::string encoding = {};   // a spec; empty: the trained encoding
    bool force_encoding = false; // allow an encoding or a parameter that differs from the trained one
    std::string dtype = {};      // type of the matrices: f32, f16, bf16, q8_0, q4_0; empty: as stored
    int context = 0;             // positions with tables from the start; 0: the trained context
    std::size_t max_memory = 0;  // bytes for the weights; 0: four fifths of the memory that this process may use
    std::function<void(std::string_view)> on_warning = {};
    std::string rope = {}; // keys to set in each rope, without force_encoding: "scaling=yarn,factor=4"
};

struct EncodeOptions {
    bool special = false; // the text of a special token becomes that token
    bool start = false;   // begin with the start token, if the model has one and the text does not name it
};

// How to sample a token, in llama.cpp's order: repetition penalty, top-k, top-p, min-p, temperature. The probabilities
// that top-p and min-p compare are those of a temperature of 1, unlike transformers', which applies it first. The same
// seed gives the same text with any number of threads. Another instruction set rounds in another way, so that the text
// may differ, above all with quantised weights or caches.
struct Sampling {
    float temperature = 0.8f;    // 0: greedy, ties to the lowest id
    int top_k = 40;              // 0: off
    float top_p = 0.95f;         // (0, 1]
    float min_p = 0.05f;         // [0, 1]
    float repeat_penalty = 1.0f; // > 0; 1: off
    int repeat_last_n = 64;      // recent tokens that are penalised; -1: all
    std::uint64_t seed = 0;
};

// Weights and a tokenizer. Calls on a moved-from model throw Error(usage).
class Model {
public:
    // Reads an Ordo safetensors file, a GGUF or llama2.c file, or a directory in the form of Hugging Face (config.json,
    // safetensors, tokenizer.json). Throws Error.
    static Model load(const std::filesystem::path& file, const LoadOptions& options = {});
    // The same with the caller's encoding instead of the trained one. The file holds its tensors as
    // "encoding.NAME.TENSOR", where NAME is spec() up to the first ':'. LoadOptions::encoding and force_encoding are
    // ignored.
    static Model load(const std::filesystem::path& file, OwnEncoding encoding, const LoadOptions& options = {});
    Model(Model&&) noexcept;
    Model& operator=(Model&&) noexcept;
    ~Model();

    int vocab_size() const;
    int context() const;                              // trained context, in tokens
    int max_position() const;                         // its encodings reach positions 0 .. max_position() - 1
    std::string encoding() const;                     // canonical spec of the encoding in use
    std::string metadata(std::string_view key) const; // of the file; empty if absent. "encoding": the trained one
    bool has_encoder() const;                         // whether it has an encoder with its own input: Session::encode()
    Token start_of_text() const;                      // comes before a prompt; -1: none
    Token end_of_text() const;                        // the first token that ends a text; -1: none
    Sampling sampling() const;                        // the settings that the model's files recommend, or the defaults

    // A model with another encoding and the same weights; both models share their memory. Tensors of the encoding that
    // these weights lack have their initial values, for a Trainer; on_warning is told of them. Throws Error(usage),
    // Error(limit).
    using OnWarning = std::function<void(std::string_view)>;
    Model with_encoding(std::string_view spec, const OnWarning& on_warning = {}) const;
    Model with_encoding(OwnEncoding encoding, const OnWarning& on_warning = {}) const;

    // Turns a text into tokens; a prompt with {.start = true}, as generate() does. encode(), decode() and generate()
    // throw Error(model) without a tokenizer.
    std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const;
    // Turns tokens into bytes, which may end inside a UTF-8 sequence. Throws Error(limit) for an id out of range.
    std::string decode(std::span<const Token> tokens) const;

    struct Impl;
    explicit Model(std::unique_ptr<const Impl> impl);

private:
    friend struct ModelAccess; // for other parts of the library
    std::unique_ptr<const Impl> impl_;
};

struct SessionOptions {
    // Tokens that fit; 0: the trained context, or the part of it that the encoding reaches. The angles of dynamic NTK
    // depend on it.
    int capacity = 0;
    // Tokens processed at once in prefill. The logits are the same to the bit for any number.
    int chunk = 256;
    int first_position = 0; // position id of the first token
    CacheType cache = CacheType::f32;
    int axes = 1;  // the number of ids of each position, 1 to 16 (Positions)
    int input = 0; // tokens that fit into the encoder, if there is one; 0: its trained context
    // A layer with a window keeps only the keys in the window, which saves memory. Then rewind() reaches less far back,
    // and a call that fails after a part of its tokens may leave the session empty.
    bool forget_past_windows = false;
};

// One sequence: its key/value cache and scratch memory. The constructor reserves all memory; the system provides it as
// the text grows. Only beyond the trained context may a call extend the encoding's tables, for the model. A session
// accepts one call at a time. During a call, in its callbacks and on other threads, feed(), feed_all(), rewind() and
// Batch::feed() throw Error(usage). So does a moved-from session. A callback may move or destroy its session; the call
// finishes with the memory that it began with.
class Session {
public:
    // The model must outlive the session; it may be moved. Throws Error(limit) if the encoding does not reach the
    // capacity, if the capacity exceeds 2^22 tokens, or if memory is too small; Error(usage) for an option out of
    // range.
    explicit Session(const Model& model, const SessionOptions& options = {});
    explicit Session(const Model&& model, const SessionOptions& options = {}) = delete;
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;
    ~Session();

    // Appends one or more tokens and returns the logits after the last, [vocab_size], valid until the next call. rows
    // has a segment for each token, or none (segment 0), and a position for each token, or none (the previous position
    // plus one; some encodings derive theirs from the tokens). Throws Error(limit) for a token, segment or position out
    // of range or a full cache; Error(usage) for no tokens or a wrong number of segments or positions; Error(model) if
    // a layer computes values that are not finite. After an error the session is as before the call. A bidirectional
    // model takes its whole input in one call, longer than a chunk or not: Error(usage) if the session is not empty.
    // Padding is skipped. At least one token must not be padding, and the logits are those after the last such token.
    //   LongRoPE's angles depend on the length of the text: the largest position after the call, counted from
    // first_position, plus rows.to_come. When the length passes the original context, or rewind() goes back below it,
    // all tokens are computed again. After evict(), the angles stay until the text passes the original context.
    std::span<const float> feed(std::span<const Token> tokens, const TokenRows& rows = {});
    // A single token. Braces are always a list: feed({}) has no tokens.
    std::span<const float> feed(std::same_as<Token> auto token) { return feed(std::span<const Token>(&token, 1)); }
    // The same, with the logits after every token except padding. The callback gets them in chunks [n, vocab_size]. Row
    // 0 belongs to tokens[first]. They are valid during the callback.
    void feed_all(std::span<const Token> tokens, const TokenRows& rows,
                  const std::function<void(int first, View logits)>& on_logits);
    // The same with the input of the head instead of logits: states [n, d_model] after the final norm. Throws
    // Error(model) if they are not finite.
    void feed_states(std::span<const Token> tokens, const TokenRows& rows,
                     const std::function<void(int first, ConstView states)>& on_states);

    // For a model with an encoder: runs the encoder on the input, to which all later tokens attend, and returns its
    // output, [n, d_model] for the n tokens that are not padding, valid until the next call. Throws as feed() does, and
    // Error(usage) without an encoder or for a session that is not empty. feed() needs an input first; a failed call
    // leaves none. rewind() keeps the input.
    ConstView encode(std::span<const Token> input, const TokenRows& rows = {});

    // Sets the observers; an empty Watch removes them. They do not see the encoder's layers or cross-attention.
    void watch(Watch watch);

    int size() const; // tokens in the cache
    int capacity() const;
    // Forgets all but the first size tokens. Throws Error(limit) if there are fewer. Throws Error(usage) for a part of
    // the tokens of a bidirectional model, where every token depends on all, and if layers with a window no longer have
    // the keys that the next token needs.
    void rewind(int size);
    bool can_rewind(int size) const; // whether rewind() works; false for a moved-from session

    // Whether evict() works. The encodings must allow new positions for cached keys (rope, xpos and all biases do;
    // learned and sinusoidal do not), the model must be causal, and positions must have one axis.
    bool can_evict() const;
    // Forgets count tokens from first on. The later tokens move up by count places, in the cache and in their
    // positions. They keep the information that they took from the forgotten tokens, so that a text continues in the
    // same cache (StreamingLLM, Xiao et al. 2023, arXiv 2309.17453). If a layer with a window has forgotten some tokens
    // before `first`, its queries see the remaining tokens. Throws Error(limit) if there are fewer tokens, Error(usage)
    // if can_evict() is false or a position would be negative.
    void evict(int first, int count);

    struct Impl;

private:
    friend class Batch;
    std::shared_ptr<Impl> impl_; // shared with a call in progress
};

// Several sequences of one model that advance together: a pass reads the weights once for all of them.
class Batch {
public:
    // Allocates memory for max_sessions sessions of at most max_tokens each (0: the trained context). The model must
    // outlive the batch. Throws Error(limit), Error(usage).
    Batch(const Model& model, int max_sessions, int max_tokens = 0);
    Batch(const Model&& model, int max_sessions, int max_tokens = 0) = delete;
    Batch(Batch&&) noexcept;
    Batch& operator=(Batch&&) noexcept;
    ~Batch();

    // Appends tokens[i] to *sessions[i] and returns the logits after each, [n, vocab_size], valid until the next call.
    // They equal those of sessions[i]->feed() up to the order of sums. The sessions are distinct, causal, and of this
    // model. rows is as for feed(), without padding. Observers do not see these tokens. Throws as feed() does; all
    // sessions are then as before the call.
    View feed(std::span<Session* const> sessions, std::span<const Token> tokens, const TokenRows& rows = {});

    struct Impl;

private:
    std::shared_ptr<Impl> impl_; // shared with a call in progress
};

// ---- Generation -----------------------------------------------------------------------------

// Samples tokens. The n-th draw depends on the seed and n alone: the random numbers come from Philox4x32-10 (Salmon et
// al. 2011) with the seed as key and n as counter.
class Sampler {
public:
    // Throws Error(usage) for a value out of range.
    Sampler(const Sampling& sampling, int vocab_size);
    // logits [vocab_size]; history: all tokens so far, with the prompt; n: the number of the draw. A token with the
    // logit -inf is never drawn. Throws Error(model) for a NaN, an infinity, or all -inf.
    Token sample(std::span<const float> logits, std::span<const Token> history, std::uint64_t n);

private:
    Sampling sampling_;
    std::vector<float> scores_;       // [vocab_size]
    std::vector<std::int32_t> order_; // [vocab_size]
};

struct GenerateOptions {
    int max_tokens = 128; // -1: until the end of the text or, without context_shift, a full context
    Sampling sampling = {};
    SessionOptions session = {};        // a capacity of 0: the prompt and max_tokens, at most the trained context
    std::vector<std::string> stop = {}; // texts at which to stop, which are not returned
    bool special = false;               // the text of a special token in the prompt becomes that token
    // When the context is full, continue: the first `keep` tokens stay (-1: the prompt), and half of the others are
    // evicted. If the session cannot evict, it starts again with the remaining tokens. A longer prompt loses its
    // middle.
    bool context_shift = false;
    int keep = 4;
    // The languages of the prompt and of the answer, if the model has a special token for each (mBART, M2M100, NLLB):
    // "eng_Latn", "fra_Latn". Empty: as the files of the model say.
    std::string from = {}, to = {};
};

enum class StopReason { max_tokens, end_of_text, stop_text, full, callback };

struct Generation {
    std::string text = {}; // the continuation, without the prompt
    StopReason reason = StopReason::max_tokens;
    int prompt_tokens = 0;
    int new_tokens = 0;
    int left_out = 0; // dropped tokens of a prompt longer than the context
    int shifts = 0;   // how often the context was shifted (context_shift)
    double prefill_seconds = 0;
    double decode_seconds = 0;
};

// Continues a prompt, after the model's start token, if it has one (Model::start_of_text). on_text receives the
// continuation in pieces of whole UTF-8 sequences (an incomplete last sequence is dropped). It returns false to stop.
// Throws Error(limit) for a prompt longer than the session, unless the context shifts. Throws Error(usage) if
// `keep` leaves no room to shift, if the model is not causal, if a stop text is empty, or if there is no token to start
// with.
Generation generate(const Model& model, std::string_view prompt, const GenerateOptions& options = {},
                    const std::function<bool(std::string_view)>& on_text = {});

struct TokenScore {
    Token token = -1;
    float log_probability = 0; // natural, given the tokens before it
};
// The probability of each token of a text under a causal model, after its start token. A model without a start token
// does not predict the first token: the list begins with the second. Throws Error(limit) for a text longer than the
// trained context, Error(usage) if the model is not causal or has an encoder, Error(model) without a tokenizer.
std::vector<TokenScore> score(const Model& model, std::string_view text);

// ---- Models that read a text as a whole -----------------------------------------------------
// Masked tokens: Devlin et al. 2018, section 3.1. Vectors of texts: Reimers and Gurevych 2019, arXiv 1908.10084,
// section 3.

struct Candidate {
    Token token = -1;
    float probability = 0; // among all tokens of the vocabulary
};
// A masked token of a text, and the model's candidates for it, the likeliest first; ties go to the lowest id.
struct Blank {
    int index = 0; // in the text's tokens
    std::vector<Candidate> best = {};
};
struct FilledText {
    std::vector<Token> tokens = {}; // with the tokens that the tokenizer adds around a text; [MASK] for each blank
    std::vector<Blank> blanks = {};
};
// Predicts each mask token of a text, such as "The [MASK] sat." The text of a special token becomes that token. Throws
// Error(usage) if the model is not bidirectional or the text has no mask token, Error(limit) if the text is too long,
// Error(model) without a tokenizer that has a mask token.
FilledText fill(const Model& model, std::string_view text, int candidates = 5);

enum class Pooling { mean, first, last }; // over the states of a text's tokens; BERT's [CLS] is the first

struct EmbedOptions {
    Pooling pooling = Pooling::mean;
    bool normalised = true; // to a length of 1
};
// A vector for a text: the pooled states [d_model] of its tokens before the head, or of the encoder's output, after the
// dense layers of the model's files. The tokens include those that the tokenizer adds around the text. Throws
// Error(usage) for a text without tokens, Error(limit) if it is too long, Error(model) without a tokenizer or if the
// states are not finite.
std::vector<float> embed(const Model& model, std::string_view text, const EmbedOptions& options = {});

// The path of a shipped file, such as "rope.safetensors": in the folder $ORDO_WEIGHTS, or share/ordo/weights where the
// program or the library is installed. Throws Error(io) if no folder has it.
std::filesystem::path weights_file(std::string_view name);

// The version of the library, "0.1.0". The macros above are the version of the header.
std::string_view version();

} // namespace ordo

#pragma GCC visibility pop
