// SPDX-License-Identifier: MIT
// What a Session is made of; a Batch moves several at once.
#pragma once

#include "model/pass.h"

#include <atomic>

namespace ordo {

inline constexpr int most_session_tokens = 1 << 22; // as of a Blueprint's context
inline constexpr int most_axes = 16;                // of positions

struct Session::Impl {
    Impl(const Model::Impl& of, const SessionOptions& wanted);

    // Throws Error if these tokens cannot be fed now.
    void check_feed(std::span<const Token> tokens, const TokenRows& rows) const;
    void check_positions(std::size_t tokens, Positions positions) const;
    int next_position() const;
    // The positions of the next tokens go to the cache: those given, or the successors of the last.
    void place(std::size_t tokens, Positions positions);
    // Checks them and places them.
    void begin(std::span<const Token> tokens, const TokenRows& rows);
    // A chunk of the tokens that were placed; the cache grows by it.
    View forward(std::span<const Token> tokens, std::span<const int> segments, std::size_t first, std::size_t count);

    const Model::Impl* model; // which stays where it is when the Model is moved
    int capacity, chunk, head_rows, axes;
    int first_position;
    int size = 0;                                   // tokens in the cache
    std::shared_ptr<const EncodingStack> encodings; // of sessions of this capacity
    Watch watch;
    KvCache cache;
    Pass pass;
    std::atomic<bool> busy = false; // in the middle of a call
};

// A call that changes a session. What it calls back, or another thread, may come upon the session meanwhile: each
// further call is refused, and what the call works on lives until its end, wherever the Session is moved to and
// whether or not it is destroyed. A call that does not get as far as done() leaves the session as it was.
class SessionCall {
public:
    // Throws Error(usage) if the session is in the middle of another, or was moved from.
    explicit SessionCall(std::shared_ptr<Session::Impl> session);
    SessionCall(SessionCall&& other) noexcept = default; // leaves nothing to end
    SessionCall& operator=(SessionCall&&) = delete;
    ~SessionCall();

    void done() { before_ = session_->size; }
    Session::Impl* operator->() const { return session_.get(); }

private:
    std::shared_ptr<Session::Impl> session_;
    int before_; // the size to go back to
};

} // namespace ordo
