// SPDX-License-Identifier: MIT
// One sequence of tokens in one stack of layers: a session's own, and the input of an encoder.
#pragma once

#include "model/pass.h"

namespace ordo {

inline constexpr int most_session_tokens = 1 << 22; // as of a Blueprint's context
inline constexpr int most_axes = 16;                // of positions

// Tokens on their way through one stack of layers, and what is kept of them.
struct Sequence {
    // name: for messages. whole: all tokens go through at once. most_memory: tokens of an encoder's input that
    // cross-attention may meet.
    Sequence(const Stack& of, const SessionOptions& wanted, const char* name, bool whole, int most_memory);

    // What is fed, without its padding.
    struct Input {
        std::span<const Token> tokens;
        std::span<const int> segments;
        std::span<const int> indices; // of the tokens in what was given; empty: all of it
        int index(std::size_t i) const { return indices.empty() ? static_cast<int>(i) : indices[i]; }
    };
    // Checks tokens and places them: their positions go to the cache, those given, or the successors of the last. Where
    // the text is as long then as other angles are for, all that is cached is computed again.
    Input begin(std::span<const Token> tokens, const TokenRows& rows);
    // A chunk of what was begun, at most chunk tokens from `first` on; the sequence grows by it. What the last layer
    // leaves, [n, d].
    View forward(const Input& fed, std::size_t first, const Watch* watch);

    bool can_evict() const;
    // As of a Session.
    void evict(int first, int count);

    int head_rows() const; // whose logits are computed at once
    Part part(int rows) {
        cache.make_room(size, rows);
        return {&cache, size, rows, memory, memory_tokens};
    }
    // As of a Session.
    bool can_rewind(int to) const;

    const Stack* model; // which stays where it is when the Model is moved
    const char* what;   // in messages
    int capacity, chunk, axes, first_position;
    int size = 0;                                   // tokens in the cache
    std::shared_ptr<const EncodingStack> encodings; // of sessions of this capacity, and texts of this length
    KvCache cache;
    Pass pass;
    KvCache* memory = nullptr; // of an encoder's input
    int memory_tokens = 0;

private:
    // Throws Error if these tokens cannot be fed now.
    void check(std::span<const Token> tokens, const TokenRows& rows) const;
    void check_positions(std::size_t tokens, Positions positions) const;
    int next_position() const;
    int moved_by(int first, int count) const;
    void place(std::size_t tokens, const TokenRows& rows);
    Input without_padding(std::span<const Token> tokens, const TokenRows& rows);
    std::int64_t length_of(int tokens) const;
    void go_by_length(const Input& fed, int to_come);
    void compute_again();

    // Where angles go by the length of the text: lengths beyond which they change, ascending, and the encodings before
    // the first of them, between them, and after the last.
    std::vector<int> changes_;
    std::vector<std::shared_ptr<const EncodingStack>> by_length_;
    std::size_t now_ = 0;   // of by_length_
    std::size_t least_ = 0; // likewise: after evict() no shorter text's
    bool stale_ = false;    // what is cached is partly of other angles, after a call that failed
    // Of the tokens in the cache. A session that computes nothing again keeps none.
    Buffer<Token> cached_tokens_;
    Buffer<int> cached_segments_;

    // Of the last feed with padding.
    std::vector<Token> kept_;
    std::vector<int> kept_segments_, indices_;
};

// An encoder at work, and what the layers that attend to its output remember of it.
struct EncoderInput {
    EncoderInput(const Model::Impl& of, const SessionOptions& wanted);

    // What it makes of its input, [n, d], padding left out.
    View encode(std::span<const Token> tokens, const TokenRows& rows);

    const Model::Impl* model;
    Sequence sequence;
    KvCache memory; // keys and values of each decoder layer
    Tensor kv;      // of one of them, [capacity, 2 kv_width]
    RowScratch scratch;
};

} // namespace ordo
