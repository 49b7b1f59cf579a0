// SPDX-License-Identifier: MIT
// One sequence of tokens in one stack of layers: that of a session, or the input of an encoder.
#pragma once

#include "model/pass.h"

namespace ordo {

inline constexpr int most_session_tokens = 1 << 22; // the limit of a Blueprint's context
inline constexpr int most_axes = 16;                // of positions

// The tokens of one stack of layers, and their cached state.
struct Sequence {
    // name: for messages. whole: all tokens are one pass. most_memory: the maximum tokens of an encoder's input for
    // cross-attention. weights: the bytes of the model. others: the bytes of the other parts of the session.
    Sequence(const Stack& of, const SessionOptions& wanted, const char* name, bool whole, int most_memory,
             std::uint64_t weights, std::uint64_t others = 0);

    // The fed tokens, without padding.
    struct Fed {
        std::span<const Token> tokens;
        std::span<const int> segments;
        std::span<const int> indices; // of the tokens in the given list; empty: all of them
        int index(std::size_t i) const { return indices.empty() ? static_cast<int>(i) : indices[i]; }
    };
    // Checks tokens, and stores their positions in the cache: the given ones, or the successors of the last. If the
    // text then has a length that needs other angles, computes all cached tokens again.
    Fed begin(std::span<const Token> tokens, const TokenRows& rows);
    // Runs a chunk of the tokens of begin(): at most `chunk` tokens from `first` on. The sequence grows by it. Returns
    // the output of the last layer, [n, d].
    View forward(const Fed& fed, std::size_t first, const Watch* watch);
    // The same with all tokens, in chunks. Returns the logits after the last one, [1, vocab].
    View logits(const Fed& fed, const Watch* watch);

    bool can_evict() const;
    // See Session.
    void evict(int first, int count);

    int head_rows() const; // number of rows whose logits are computed at once
    Part part(int rows) {
        cache.make_room(size, rows);
        return {&cache, size, rows, memory, memory_tokens};
    }
    // See Session.
    bool can_rewind(int to) const;
    // The encodings of the present length.
    const EncodingsAtLength& at_length() const { return by_length_[now_]; }

    const Stack* model; // stays in place when the Model is moved
    const char* what;   // in messages
    int capacity, chunk, axes, first_position;
    std::uint64_t session_bytes = 0;                 // of the cache and the pass, and of those others
    int size = 0;                                    // tokens in the cache
    std::shared_ptr<const ModelEncodings> encodings; // for sessions of this capacity, and texts of this length
    KvCache cache;
    Pass pass;
    KvCache* memory = nullptr; // of an encoder's input
    int memory_tokens = 0;

private:
    template <class Run>
    View run_chunk(const Fed& fed, std::size_t first, const Run& run);
    // Throws Error if these tokens cannot be fed now.
    void check(std::span<const Token> tokens, const TokenRows& rows) const;
    void check_positions(std::size_t tokens, Positions positions) const;
    int next_position() const;
    int moved_by(int first, int count) const;
    void place(std::size_t tokens, const TokenRows& rows);
    void derive(const Fed& fed, Positions given);
    Fed without_padding(std::span<const Token> tokens, const TokenRows& rows);
    std::int64_t length_of(int tokens) const;
    void go_by_length(const Fed& fed, int to_come);
    void compute_again();
    std::vector<EncodingsAtLength> all_lengths(std::int64_t positions) const;
    void extend_tables(std::size_t tokens, const TokenRows& rows);

    // If angles depend on the length of the text: the lengths beyond which they change, ascending. by_length_ has the
    // encodings before the first of them, between them, and after the last.
    std::vector<int> changes_;
    std::vector<EncodingsAtLength> by_length_;
    std::size_t now_ = 0;     // index into by_length_
    std::size_t least_ = 0;   // minimum of now_: after evict(), not that of a shorter text
    bool stale_ = false;      // part of the cache has other angles, after a call that failed
    std::int64_t tables_ = 0; // positions that need no longer tables
    // Of the cached tokens. Empty in a session that never recomputes.
    Buffer<Token> cached_tokens_;
    Buffer<int> cached_segments_;

    // Of the last feed with padding.
    std::vector<Token> kept_;
    std::vector<int> kept_segments_, indices_;
};

// An encoder in use, and the keys and values of its output for the layers that attend to it.
struct EncoderInput {
    EncoderInput(const Model::Impl& of, const SessionOptions& wanted);

    // The output for an input, [n, d], without padding.
    View encode(std::span<const Token> tokens, const TokenRows& rows);

    const Model::Impl* model;
    Sequence sequence;
    KvCache memory; // keys and values of each decoder layer
    Tensor kv;      // for one of them, [capacity, 2 kv_width]
    RowScratch scratch;
    std::uint64_t bytes = 0; // of all this
};

} // namespace ordo
