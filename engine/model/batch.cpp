// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/number.h"
#include "model/memory_limit.h"
#include "model/session_impl.h"

#include <algorithm>

namespace ordo {

struct Batch::Impl {
    Impl(const Model::Impl* of, int n_sessions, int capacity)
        : model(of), max_sessions(n_sessions), max_tokens(capacity),
          pass(*of, of->encodings_for(capacity).encodings, sizes(*of, n_sessions, capacity)),
          states(n_sessions, of->blueprint.d_model) {
        const auto n = static_cast<std::size_t>(n_sessions);
        calls.reserve(n);
        together.reserve(n);
    }

    // Runs one pass: the unfinished sessions from the first-th on that use the same angles as it.
    void forward_with(std::size_t first, std::span<const Token> tokens, std::span<const int> segments);

    static PassSizes sizes(const Model::Impl& of, int n_sessions, int capacity) {
        return {n_sessions, n_sessions, capacity, most_memory(of)};
    }
    // The maximum input of an encoder in each session.
    static int most_memory(const Model::Impl& of) { return of.encoder ? of.encoder->blueprint.context : 0; }

    const Model::Impl* model;
    int max_sessions, max_tokens;
    Pass pass;
    Tensor states;                  // [sessions, d]: the output of the last layer
    std::vector<SessionCall> calls; // one for each session, during a call
    // The rows of one pass. Their memory is kept between calls.
    struct Rows {
        void reserve(std::size_t n);
        void clear();
        std::vector<std::size_t> sessions;
        std::vector<Token> tokens;
        std::vector<int> segments, positions;
        std::vector<Part> parts;
    } together;
    std::atomic<bool> busy = false;
};

void Batch::Impl::Rows::reserve(std::size_t n) {
    sessions.reserve(n);
    tokens.reserve(n);
    segments.reserve(n);
    positions.reserve(n);
    parts.reserve(n);
}

void Batch::Impl::Rows::clear() {
    sessions.clear();
    tokens.clear();
    segments.clear();
    positions.clear();
    parts.clear();
}

void Batch::Impl::forward_with(std::size_t first, std::span<const Token> tokens, std::span<const int> segments) {
    const EncodingsAtLength* longest = &calls[first]->at_length(); // of tables
    together.clear();
    for (std::size_t i = first; i < calls.size(); ++i) {
        SessionCall& s = calls[i];
        if (s->at_length().angles != calls[first]->at_length().angles) continue;
        if (s->at_length().positions > longest->positions) longest = &s->at_length();
        together.sessions.push_back(i);
        together.tokens.push_back(tokens[i]);
        if (!segments.empty()) together.segments.push_back(segments[i]);
        for (const int id : s->cache.positions(s->size, 1).ids()) together.positions.push_back(id);
        together.parts.push_back(s->part(1));
    }
    pass.use(longest->encodings);
    const View out =
        pass.forward({together.tokens,
                      {{together.positions, calls[first]->axes, calls[first]->axes + model->encodings.derived_axes()},
                       together.segments},
                      together.parts});
    for (int row = 0; row < out.rows; ++row)
        std::copy_n(out.row(row), out.cols, states.view().row(static_cast<int>(together.sessions[row])));
}

namespace {

// A call of a batch, like SessionCall for a session. It ends the calls of its sessions.
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
    expect_head(m);
    const int capacity = max_tokens == 0 ? m.blueprint.context : max_tokens;
    const std::uint64_t bytes = Pass::bytes(m, Impl::sizes(m, max_sessions, capacity));
    expect_memory(joined("batch: ", max_sessions, " sessions"), bytes, weight_bytes(m));
    try {
        impl_ = std::make_shared<Impl>(&m, max_sessions, capacity);
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, "batch: not enough memory for ", max_sessions, " sessions (", bytes_text(bytes), ")");
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
        s->begin(tokens.subspan(i, 1), {positions.empty() ? positions : positions.subspan(i, 1),
                                        segments.empty() ? segments : segments.subspan(i, 1)});
    }
    // One pass for all sessions; if angles depend on lengths, one for each set of angles.
    for (std::size_t i = 0; i < b.calls.size(); ++i)
        if (std::none_of(b.calls.begin(), b.calls.begin() + static_cast<std::ptrdiff_t>(i),
                         [&](SessionCall& s) { return s->at_length().angles == b.calls[i]->at_length().angles; }))
            b.forward_with(i, tokens, segments);
    const View logits = b.pass.head(rows_of(b.states.view(), 0, static_cast<int>(b.calls.size())));
    for (SessionCall& s : b.calls) {
        ++s->size;
        s.done();
    }
    return logits;
}

} // namespace ordo
