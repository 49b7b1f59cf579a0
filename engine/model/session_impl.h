// SPDX-License-Identifier: MIT
// What a Session is made of; a Batch moves several at once.
#pragma once

#include "model/sequence.h"

#include <atomic>

namespace ordo {

struct Session::Impl : Sequence {
    Impl(const Model::Impl& of, const SessionOptions& wanted, std::unique_ptr<EncoderInput> input);

    // begin() of a sequence whose encoder has had its input.
    Input begin(std::span<const Token> tokens, const TokenRows& rows);
    const Watch* watcher() const { return watch.states || watch.weights ? &watch : nullptr; }

    std::unique_ptr<EncoderInput> input; // may be none
    Watch watch;
    std::atomic<bool> busy = false; // in the middle of a call
};

// A call that changes a session. What it calls back, or another thread, may come upon the session meanwhile: each
// further call is refused, and what the call works on lives until its end, wherever the Session is moved to and
// whether or not it is destroyed. A call that does not get as far as done() leaves the session as it was, or empty
// where layers with a window have already forgotten what it would go on from.
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
