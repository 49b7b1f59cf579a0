// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "model/session_impl.h"

#include <algorithm>
#include <utility>

namespace ordo {
namespace {

std::string name_of(const Encoding& encoding) {
    const std::string spec = encoding.spec();
    return spec.substr(0, spec.find(':'));
}

int checked_capacity(const Model::Impl& model, const SessionOptions& options) {
    if (options.capacity < 0)
        fail(ErrorCode::usage, "session: capacity: expected 0 or more tokens, found ", options.capacity);
    if (options.chunk < 1) fail(ErrorCode::usage, "session: chunk: expected 1 or more tokens, found ", options.chunk);
    if (options.first_position < 0)
        fail(ErrorCode::usage, "session: first position: expected 0 or more, found ", options.first_position);
    if (options.axes < 1 || options.axes > most_axes)
        fail(ErrorCode::usage, "session: axes: expected 1 to ", most_axes, ", found ", options.axes);
    if (options.capacity > most_session_tokens)
        fail(ErrorCode::limit, "session: expected at most ", most_session_tokens, " tokens, found ", options.capacity);

    const std::int64_t first = options.first_position;
    std::int64_t capacity = options.capacity;
    for (const auto& encoding : model.encodings.items()) {
        const std::int64_t reach = encoding->max_position();
        // Without a wish of the caller's, a shorter session will do; with one, nothing less.
        if (first + std::max<std::int64_t>(capacity, 1) <= reach) continue;
        fail(ErrorCode::limit, name_of(*encoding), ": position ", std::max(first, reach), ", the table has ", reach);
    }
    constexpr std::int64_t last = std::numeric_limits<int>::max();
    if (capacity == 0)
        capacity =
            std::min({std::int64_t{model.blueprint.context}, model.encodings.max_position() - first, last - first});
    if (capacity < 1 || first + capacity > last)
        fail(ErrorCode::limit, "session: position ", first + capacity, " is beyond ", last);
    return static_cast<int>(capacity);
}

// In a bidirectional model a token's keys depend on all that follow: the whole input goes through at once.
int rows_at_once(const Model::Impl& m, const SessionOptions& wanted, int capacity) {
    return m.blueprint.bidirectional() ? capacity : std::min(wanted.chunk, capacity);
}

// Logits of a large vocabulary are computed a few rows at a time: 4 MB, but at least one row.
int head_rows_at_once(const Model::Impl& m, int chunk) {
    constexpr int most_floats = 1 << 20;
    return std::clamp(most_floats / m.blueprint.vocab_size, 1, chunk);
}

} // namespace

Session::Impl::Impl(const Model::Impl& of, const SessionOptions& wanted)
    : model(&of), capacity(checked_capacity(of, wanted)), chunk(rows_at_once(of, wanted, capacity)),
      head_rows(head_rows_at_once(of, chunk)), axes(wanted.axes), first_position(wanted.first_position) {
    const Blueprint& b = of.blueprint;
    KvCacheShape shape{b.n_layers, b.n_kv_heads, b.d_head, capacity, wanted.cache, axes};
    if (of.encodings.moments() & moment_observe)
        for (int i = 0; i < b.n_layers; ++i) shape.state_floats.push_back(of.encodings.layer(i).state_floats());
    const PassSizes sizes{chunk, head_rows, capacity, 1};
    const std::uint64_t bytes = KvCache::bytes(shape) + Pass::bytes(of, sizes);
    if (bytes > default_memory_limit())
        fail(ErrorCode::limit, "session: ", capacity, " tokens take ", bytes, " bytes, more than the ",
             default_memory_limit(), " that they may");
    try {
        encodings = of.encodings_for(capacity);
        cache = KvCache(shape);
        pass = Pass(of, encodings, sizes);
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, "session: not enough memory for ", capacity, " tokens (", bytes, " bytes)");
    }
}

void Session::Impl::check_feed(std::span<const Token> tokens, const TokenRows& rows) const {
    const Blueprint& b = model->blueprint;
    const std::span<const int> segments = rows.segments;
    if (tokens.empty()) fail(ErrorCode::usage, "session: expected at least one token, found none");
    if (!segments.empty() && segments.size() != tokens.size())
        fail(ErrorCode::usage, "session: expected a segment for each of ", tokens.size(), " tokens, found ",
             segments.size());
    if (tokens.size() > static_cast<std::size_t>(capacity - size))
        fail(ErrorCode::limit, "session: expected at most ", capacity, " tokens, found ", size, " and ", tokens.size(),
             " more");
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] < 0 || tokens[i] >= b.vocab_size)
            fail(ErrorCode::limit, "session: token ", i, ": expected an id from 0 to ", b.vocab_size - 1, ", found ",
                 tokens[i]);
    for (std::size_t i = 0; i < segments.size(); ++i)
        if (segments[i] < 0)
            fail(ErrorCode::limit, "session: segment ", i, ": expected 0 or more, found ", segments[i]);
    for (const auto& encoding : encodings->items())
        for (const int segment : segments)
            if (segment >= encoding->max_segment())
                fail(ErrorCode::limit, name_of(*encoding), ": segment ", segment, ", the table has ",
                     encoding->max_segment());
    check_positions(tokens.size(), rows.positions);
    if (b.bidirectional() && size != 0)
        fail(ErrorCode::usage, "session: a bidirectional model takes its whole input in one call; rewind to 0 first");
}

void Session::Impl::check_positions(std::size_t tokens, Positions positions) const {
    if (positions.empty()) {
        const std::int64_t last = std::int64_t{next_position()} + static_cast<std::int64_t>(tokens) - 1;
        if (last >= encodings->max_position() || last >= std::numeric_limits<int>::max())
            fail(ErrorCode::limit, "session: expected positions below ", encodings->max_position(), ", found ", last);
        return;
    }
    if (positions.axes() != axes)
        fail(ErrorCode::usage, "session: expected positions of ", axes, " axes, as it was made for, found ",
             positions.axes());
    if (positions.ids().size() != tokens * static_cast<std::size_t>(axes))
        fail(ErrorCode::usage, "session: expected ", axes, " position ids for each of ", tokens, " tokens, found ",
             positions.ids().size());
    for (const int id : positions.ids())
        if (id < 0 || id >= encodings->max_position())
            fail(ErrorCode::limit, "session: expected positions from 0 to ", encodings->max_position() - 1, ", found ",
                 id);
}

// The greatest id of the last token, and one more.
int Session::Impl::next_position() const {
    if (size == 0) return first_position;
    const std::span<const int> last = cache.positions(size - 1, 1).ids();
    return *std::max_element(last.begin(), last.end()) + 1;
}

void Session::Impl::place(std::size_t tokens, Positions positions) {
    const int next = next_position();
    for (std::size_t i = 0; i < tokens; ++i) {
        const std::span<int> to = cache.position(size + static_cast<int>(i));
        for (std::size_t axis = 0; axis < to.size(); ++axis)
            to[axis] = positions.empty() ? next + static_cast<int>(i) : positions.at(i, static_cast<int>(axis));
    }
}

void Session::Impl::begin(std::span<const Token> tokens, const TokenRows& rows) {
    check_feed(tokens, rows);
    place(tokens.size(), rows.positions);
}

View Session::Impl::forward(std::span<const Token> tokens, std::span<const int> segments, std::size_t first,
                            std::size_t count) {
    const auto n = static_cast<int>(count);
    const Part part{&cache, size, n};
    const View rows =
        pass.forward({tokens.subspan(first, count),
                      {cache.positions(size, n), segments.empty() ? segments : segments.subspan(first, count)},
                      {&part, 1}},
                     watch.states || watch.weights ? &watch : nullptr);
    size += n;
    return rows;
}

SessionCall::SessionCall(std::shared_ptr<Session::Impl> session) : session_(std::move(session)) {
    if (!session_) fail(ErrorCode::usage, "session: expected one that holds a sequence, found one that was moved from");
    if (session_->busy.exchange(true, std::memory_order_acquire))
        fail(ErrorCode::usage, "session: expected one call at a time, found one in the middle of another");
    before_ = session_->size;
}

SessionCall::~SessionCall() {
    if (!session_) return;
    session_->size = before_;
    session_->busy.store(false, std::memory_order_release);
}

// ---- The public face ------------------------------------------------------------------------

Session::Session(const Model& model, const SessionOptions& options)
    : impl_(std::make_shared<Impl>(impl_of(model), options)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::span<const float> Session::feed(std::span<const Token> tokens, const TokenRows& rows) {
    SessionCall s(impl_);
    s->begin(tokens, rows);
    const auto chunk = static_cast<std::size_t>(s->chunk);
    View last{};
    for (std::size_t first = 0; first < tokens.size(); first += chunk) {
        const View out = s->forward(tokens, rows.segments, first, std::min(chunk, tokens.size() - first));
        last = rows_of(out, out.rows - 1, 1);
    }
    const View logits = s->pass.head(last);
    s.done();
    return {logits.data, static_cast<std::size_t>(logits.cols)};
}

void Session::feed_all(std::span<const Token> tokens, const TokenRows& rows,
                       const std::function<void(int first, View logits)>& on_logits) {
    if (!on_logits) fail(ErrorCode::usage, "session: expected a callback, found an empty one");
    SessionCall s(impl_);
    s->begin(tokens, rows);
    const auto chunk = static_cast<std::size_t>(s->chunk);
    for (std::size_t first = 0; first < tokens.size(); first += chunk) {
        const View out = s->forward(tokens, rows.segments, first, std::min(chunk, tokens.size() - first));
        for (int i = 0; i < out.rows; i += s->head_rows)
            on_logits(static_cast<int>(first) + i, s->pass.head(rows_of(out, i, std::min(s->head_rows, out.rows - i))));
    }
    s.done();
}

void Session::watch(Watch watch) {
    SessionCall s(impl_);
    s->watch = std::move(watch);
    s.done();
}

int Session::size() const {
    return impl_ ? impl_->size : 0;
}
int Session::capacity() const {
    return impl_ ? impl_->capacity : 0;
}

void Session::rewind(int size) {
    SessionCall s(impl_);
    if (size < 0 || size > s->size)
        fail(ErrorCode::limit, "session: rewind: expected 0 to ", s->size, " tokens, found ", size);
    if (size != 0 && size != s->size && s->model->blueprint.bidirectional())
        fail(ErrorCode::usage, "session: rewind: in a bidirectional model every token depends on all; expected 0 or ",
             s->size, ", found ", size);
    s->size = size;
    s.done();
}

} // namespace ordo
