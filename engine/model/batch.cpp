// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "model/session_impl.h"

#include <algorithm>

namespace ordo {

struct Batch::Impl {
    Impl(const Model::Impl* of, int n_sessions, int capacity)
        : model(of), max_sessions(n_sessions), max_tokens(capacity),
          pass(*of, of->encodings_for(capacity), sizes(*of, n_sessions, capacity)) {
        parts.reserve(static_cast<std::size_t>(n_sessions));
        calls.reserve(static_cast<std::size_t>(n_sessions));
    }

    static PassSizes sizes(const Model::Impl& of, int n_sessions, int capacity) {
        return {n_sessions, n_sessions, capacity, most_memory(of)};
    }
    // Tokens that an encoder has been given in each of the sessions.
    static int most_memory(const Model::Impl& of) { return of.encoder ? of.encoder->blueprint.context : 0; }

    const Model::Impl* model;
    int max_sessions, max_tokens;
    Pass pass;
    std::vector<int> positions; // of the tokens of one call; its memory stays from call to call
    std::vector<Part> parts;
    std::vector<SessionCall> calls; // one for each session, while a call lasts
    std::atomic<bool> busy = false;
};

namespace {

// A call of a batch, as SessionCall is one of a session; it ends those of its sessions.
class BatchCall {
public:
    explicit BatchCall(std::shared_ptr<Batch::Impl> batch) : batch_(std::move(batch)) {
        if (!batch_) fail(ErrorCode::usage, "batch: expected one with memory, found one that was moved from");
        if (batch_->busy.exchange(true, std::memory_order_acquire))
            fail(ErrorCode::usage, "batch: expected one call at a time, found one in the middle of another");
    }
    BatchCall(const BatchCall&) = delete;
    BatchCall& operator=(const BatchCall&) = delete;
    ~BatchCall() {
        batch_->calls.clear();
        batch_->busy.store(false, std::memory_order_release);
    }
    Batch::Impl& operator*() const { return *batch_; }

private:
    std::shared_ptr<Batch::Impl> batch_;
};

} // namespace

Batch::Batch(const Model& model, int max_sessions, int max_tokens) {
    const Model::Impl& m = impl_of(model);
    if (max_sessions < 1) fail(ErrorCode::usage, "batch: expected 1 or more sessions, found ", max_sessions);
    if (max_tokens < 0) fail(ErrorCode::usage, "batch: expected 0 or more tokens, found ", max_tokens);
    if (max_tokens > most_session_tokens)
        fail(ErrorCode::limit, "batch: expected at most ", most_session_tokens, " tokens, found ", max_tokens);
    if (m.blueprint.bidirectional())
        fail(ErrorCode::usage, m.where, ": a bidirectional model does not move on token by token");
    const int capacity = max_tokens == 0 ? m.blueprint.context : max_tokens;
    const std::uint64_t bytes = Pass::bytes(m, Impl::sizes(m, max_sessions, capacity));
    if (bytes > default_memory_limit())
        fail(ErrorCode::limit, "batch: ", max_sessions, " sessions take ", bytes, " bytes, more than the ",
             default_memory_limit(), " that may be used");
    try {
        impl_ = std::make_shared<Impl>(&m, max_sessions, capacity);
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, "batch: not enough memory for ", max_sessions, " sessions (", bytes, " bytes)");
    }
}
Batch::Batch(Batch&&) noexcept = default;
Batch& Batch::operator=(Batch&&) noexcept = default;
Batch::~Batch() = default;

View Batch::feed(std::span<Session* const> sessions, std::span<const Token> tokens, const TokenRows& rows) {
    const BatchCall call(impl_);
    Impl& b = *call;
    if (sessions.empty()) fail(ErrorCode::usage, "batch: expected at least one session, found none");
    if (sessions.size() > static_cast<std::size_t>(b.max_sessions))
        fail(ErrorCode::limit, "batch: expected at most ", b.max_sessions, " sessions, found ", sessions.size());
    const std::span<const int> segments = rows.segments;
    if (tokens.size() != sessions.size() || (!segments.empty() && segments.size() != tokens.size()))
        fail(ErrorCode::usage, "batch: expected a token, and a segment if any, for each of ", sessions.size(),
             " sessions, found ", tokens.size(), " tokens and ", segments.size(), " segments");
    if (!rows.padding.empty()) fail(ErrorCode::usage, "batch: expected no padding, found some");
    const Positions positions = rows.positions;
    if (!positions.empty() &&
        (positions.axes() < 1 || positions.ids().size() != tokens.size() * static_cast<std::size_t>(positions.axes())))
        fail(ErrorCode::usage, "batch: expected ", positions.axes(), " position ids for each of ", tokens.size(),
             " tokens, found ", positions.ids().size());
    b.positions.clear();
    b.parts.clear();
    for (std::size_t i = 0; i < sessions.size(); ++i) {
        if (!sessions[i]) fail(ErrorCode::usage, "batch: session ", i, ": expected one, found a null pointer");
        if (std::find(sessions.begin(), sessions.begin() + static_cast<std::ptrdiff_t>(i), sessions[i]) !=
            sessions.begin() + static_cast<std::ptrdiff_t>(i))
            fail(ErrorCode::usage, "batch: session ", i, " is there twice");
        SessionCall& s = b.calls.emplace_back(sessions[i]->impl_);
        if (s->model != b.model) fail(ErrorCode::usage, "batch: session ", i, " is of another model");
        if (s->size >= b.max_tokens)
            fail(ErrorCode::limit, "batch: session ", i, ": expected fewer than ", b.max_tokens, " tokens, found ",
                 s->size);
        if (s->memory_tokens > Impl::most_memory(*b.model))
            fail(ErrorCode::limit, "batch: session ", i, ": expected an encoder's input of at most ",
                 Impl::most_memory(*b.model), " tokens, found ", s->memory_tokens);
        if (s->axes != b.calls.front()->axes)
            fail(ErrorCode::usage, "batch: session ", i, ": expected positions of ", b.calls.front()->axes,
                 " axes as session 0 has, found ", s->axes);
        if (s->encodings != b.calls.front()->encodings)
            fail(ErrorCode::usage, "batch: session ", i, ": expected the capacity of session 0, by which ",
                 s->encodings->spec(), " turns, found ", s->capacity);
        s->begin(tokens.subspan(i, 1), {positions.empty() ? positions : positions.subspan(i, 1),
                                        segments.empty() ? segments : segments.subspan(i, 1)});
        for (const int id : s->cache.positions(s->size, 1).ids()) b.positions.push_back(id);
        b.parts.push_back(s->part(1));
    }
    b.pass.use(b.calls.front()->encodings);
    const View stream = b.pass.forward({tokens, {{b.positions, b.calls.front()->axes}, segments}, b.parts});
    const View logits = b.pass.head(stream);
    for (SessionCall& s : b.calls) {
        ++s->size;
        s.done();
    }
    return logits;
}

} // namespace ordo
