// SPDX-License-Identifier: MIT
// What a Session is made of; a Batch moves several at once.
#pragma once

#include "model/pass.h"

namespace ordo {

inline constexpr int most_session_tokens = 1 << 22; // as of a Blueprint's context

struct Session::Impl {
    Impl(const Model::Impl& of, const SessionOptions& wanted);

    // Throws Error if these tokens cannot be fed now.
    void check_feed(std::span<const Token> tokens, std::span<const int> segments) const;
    // One chunk of tokens; the cache grows by them.
    View forward(std::span<const Token> tokens, std::span<const int> segments);

    const Model::Impl* model; // which stays where it is when the Model is moved
    int capacity, chunk, head_rows;
    int size = 0; // tokens in the cache
    KvCache cache;
    Pass pass;
};

} // namespace ordo
