// SPDX-License-Identifier: MIT
// The implementation of a Session. A Batch moves several at once.
#pragma once

#include "model/sequence.h"

#include <atomic>

namespace ordo {

struct Session::Impl : Sequence {
    Impl(const Model::Impl& of, const SessionOptions& wanted, std::unique_ptr<EncoderInput> input);

    // begin() of a sequence whose encoder has had its input.
    Fed begin(std::span<const Token> tokens, const TokenRows& rows);
    const Watch* watcher() const { return watch.states || watch.weights || watch.scores ? &watch : nullptr; }

    std::unique_ptr<EncoderInput> input; // null without an encoder
    Watch watch;
    std::atomic<bool> busy = false; // during a call
};

// A call that changes a session. A callback of it, or another thread, may use the session meanwhile. Each further call
// is refused. The data of the call lives until its end, even if the Session is moved or destroyed. If a call does not
// reach done(), it leaves the session as it was, or empty if layers with a window have already dropped tokens that it
// would need.
class SessionCall {
public:
    // Throws Error(usage) if the session is in the middle of another call, or was moved from.
    explicit SessionCall(std::shared_ptr<Session::Impl> session);
    SessionCall(SessionCall&& other) noexcept = default; // leaves nothing to end
    SessionCall& operator=(SessionCall&&) = delete;
    ~SessionCall();

    void done() { before_ = session_->size; }
    Session::Impl* operator->() const { return session_.get(); }

private:
    std::shared_ptr<Session::Impl> session_;
    int before_; // the size to restore
};

} // namespace ordo
