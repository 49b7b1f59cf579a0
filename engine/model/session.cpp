// SPDX-License-Identifier: MIT
#include "model/session_impl.h"

#include "core/error.h"
#include "model/memory_limit.h"

#include <algorithm>
#include <utility>

namespace ordo {
namespace {

std::unique_ptr<EncoderInput> input_of(const Model::Impl& model, const SessionOptions& options) {
    if (options.input < 0) fail(ErrorCode::usage, "session: input: expected 0 or more tokens, found ", options.input);
    if (model.encoder) return std::make_unique<EncoderInput>(model, options);
    if (options.input > 0)
        fail(ErrorCode::usage, "session: input: expected 0 for a model without an encoder, found ", options.input);
    return nullptr;
}

} // namespace

// In a bidirectional model a token's keys depend on all later tokens, so the whole input is one pass.
Session::Impl::Impl(const Model::Impl& of, const SessionOptions& wanted, std::unique_ptr<EncoderInput> encoder)
    : Sequence(of, wanted, "session", of.blueprint.bidirectional(), encoder ? encoder->sequence.capacity : 0,
               weight_bytes(of), encoder ? encoder->bytes : 0),
      input(std::move(encoder)) {
    if (input) memory = &input->memory;
}

Sequence::Fed Session::Impl::begin(std::span<const Token> tokens, const TokenRows& rows) {
    if (input && memory_tokens == 0)
        fail(ErrorCode::usage, "session: expected an input for the encoder before the first token, found none");
    return Sequence::begin(tokens, rows);
}

SessionCall::SessionCall(std::shared_ptr<Session::Impl> session) : session_(std::move(session)) {
    if (!session_) fail(ErrorCode::usage, "session: expected one that holds a sequence, found one that was moved from");
    if (session_->busy.exchange(true, std::memory_order_acquire))
        fail(ErrorCode::usage, "session: expected one call at a time, found one in the middle of another");
    before_ = session_->size;
}

SessionCall::~SessionCall() {
    if (!session_) return;
    if (session_->size != before_) session_->size = session_->cache.goes_on_from(before_) ? before_ : 0;
    session_->busy.store(false, std::memory_order_release);
}

// ---- The public interface --------------------------------------------------------------------

Session::Session(const Model& model, const SessionOptions& options)
    : impl_(std::make_shared<Impl>(impl_of(model), options, input_of(impl_of(model), options))) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::span<const float> Session::feed(std::span<const Token> tokens, const TokenRows& rows) {
    SessionCall s(impl_);
    expect_head(*s->model);
    const Sequence::Fed fed = s->begin(tokens, rows);
    const View logits = s->logits(fed, s->watcher());
    s.done();
    return {logits.data, static_cast<std::size_t>(logits.cols)};
}

namespace {

// Feeds all tokens, and passes make(rows) to on_rows for the rows of the last layer: at most at_once consecutive rows
// at a time.
template <class Make, class Rows>
void feed_rows(SessionCall& s, std::span<const Token> tokens, const TokenRows& rows, int at_once, const Make& make,
               const std::function<void(int first, Rows)>& on_rows) {
    if (!on_rows) fail(ErrorCode::usage, "session: expected a callback, found an empty one");
    const Sequence::Fed fed = s->begin(tokens, rows);
    for (std::size_t first = 0; first < fed.tokens.size(); first += static_cast<std::size_t>(s->chunk)) {
        const View out = s->forward(fed, first, s->watcher());
        for (int i = 0, n = 0; i < out.rows; i += n) {
            const std::size_t at = first + static_cast<std::size_t>(i);
            const auto follows = [&](int j) {
                return fed.index(at + static_cast<std::size_t>(j)) == fed.index(at) + j;
            };
            for (n = 1; n < std::min(at_once, out.rows - i) && follows(n);) ++n;
            on_rows(fed.index(at), make(rows_of(out, i, n)));
        }
    }
    s.done();
}

} // namespace

void Session::feed_all(std::span<const Token> tokens, const TokenRows& rows,
                       const std::function<void(int first, View logits)>& on_logits) {
    SessionCall s(impl_);
    expect_head(*s->model);
    feed_rows(
        s, tokens, rows, s->head_rows(), [&](View x) { return s->pass.head(x); }, on_logits);
}

void Session::feed_states(std::span<const Token> tokens, const TokenRows& rows,
                          const std::function<void(int first, ConstView states)>& on_states) {
    SessionCall s(impl_);
    feed_rows(
        s, tokens, rows, s->chunk, [&](View x) { return s->pass.states(x); }, on_states);
}

ConstView Session::encode(std::span<const Token> tokens, const TokenRows& rows) {
    SessionCall s(impl_);
    if (!s->input) fail(ErrorCode::usage, s->model->where, ": expected a model with an encoder, found one without");
    if (s->size != 0)
        fail(ErrorCode::usage, "session: expected no tokens before the encoder's input, found ", s->size,
             "; rewind to 0 first");
    s->memory_tokens = 0;
    const View encoded = s->input->encode(tokens, rows);
    s->memory_tokens = encoded.rows;
    return encoded;
}

void Session::watch(Watch watch) {
    SessionCall s(impl_);
    if (watch.scores) s->pass.keep_unbiased();
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
    if (!s->can_rewind(size))
        fail(ErrorCode::usage, "session: rewind: layers with a window have forgotten what token ", size,
             " would see; expected 0, or a size nearer to ", s->size);
    s->size = size;
    s.done();
}

bool Session::can_rewind(int size) const {
    return impl_ && impl_->can_rewind(size);
}

bool Session::can_evict() const {
    return impl_ && impl_->can_evict();
}

void Session::evict(int first, int count) {
    SessionCall s(impl_);
    s->evict(first, count);
    s.done();
}

} // namespace ordo
