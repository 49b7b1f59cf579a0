// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "core/parallel.h"
#include "layers/embedding.h"
#include "model/model.h"
#include "ops/softmax.h"

#include <algorithm>
#include <atomic>

namespace ordo {
namespace {

constexpr int most_tokens = 1 << 22; // of a session, as of a Blueprint's context

bool all_finite(View x) {
    std::atomic<bool> finite{true};
    parallel_for(x.rows, std::max(1, 65536 / x.cols), [&](std::ptrdiff_t i) {
        const float* row = x.row(static_cast<int>(i));
        float sum = 0; // v - v is 0, or NaN for what is not finite
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < x.cols; ++j) sum += row[j] - row[j];
        if (sum != 0 || sum != sum) finite.store(false, std::memory_order_relaxed);
    });
    return finite.load();
}

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
    if (options.capacity > most_tokens)
        fail(ErrorCode::limit, "session: expected at most ", most_tokens, " tokens, found ", options.capacity);

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

} // namespace

struct Session::Impl {
    Impl(const Model& of, const SessionOptions& wanted)
        : model(&of), options(wanted), capacity(checked_capacity(of.impl(), wanted)),
          chunk(rows_at_once(of.impl(), wanted, capacity)), head_rows(head_rows_at_once(of.impl(), chunk)) {
        const Model::Impl& m = of.impl();
        const Blueprint& b = m.blueprint;
        const std::uint64_t bytes = sizeof(float) * floats(m, capacity, chunk, head_rows);
        if (bytes > default_memory_limit())
            fail(ErrorCode::limit, "session: ", capacity, " tokens take ", bytes, " bytes, more than the ",
                 default_memory_limit(), " that they may");
        try {
            cache = KvCache(b.n_layers, b.n_kv_heads, b.d_head, capacity);
            attention = AttentionScratch(m.shape.attention, capacity);
            x = Tensor(chunk, b.d_model);
            normed = Tensor(chunk, b.d_model);
            branch = Tensor(chunk, b.d_model);
            qkv = Tensor(chunk, qkv_width(b));
            attended = Tensor(chunk, b.n_heads * b.d_head);
            hidden = Tensor(chunk, hidden_width(b));
            logits = Tensor(head_rows, b.vocab_size);
        } catch (const std::bad_alloc&) {
            fail(ErrorCode::limit, "session: not enough memory for ", capacity, " tokens (", bytes, " bytes)");
        }
        for (int i = 0; i < capacity; ++i) cache.positions()[static_cast<std::size_t>(i)] = wanted.first_position + i;
    }

    static int qkv_width(const Blueprint& b) { return (b.n_heads + 2 * b.n_kv_heads) * b.d_head; }
    static int hidden_width(const Blueprint& b) { return b.gated ? 2 * b.d_ff : b.d_ff; }
    // In a bidirectional model a token's keys depend on all that follow: the whole input goes through at once.
    static int rows_at_once(const Model::Impl& m, const SessionOptions& wanted, int capacity) {
        return m.blueprint.mask == Mask::bidirectional ? capacity : std::min(wanted.chunk, capacity);
    }
    // Logits of a large vocabulary are computed a few rows at a time: 4 MB, but at least one row.
    static int head_rows_at_once(const Model::Impl& m, int chunk) {
        constexpr int most_floats = 1 << 20;
        return std::clamp(most_floats / m.blueprint.vocab_size, 1, chunk);
    }
    static std::uint64_t floats(const Model::Impl& m, int capacity, int chunk, int head_rows) {
        const Blueprint& b = m.blueprint;
        const auto row =
            static_cast<std::uint64_t>(3 * b.d_model + qkv_width(b) + b.n_heads * b.d_head + hidden_width(b));
        return KvCache::floats(b.n_layers, b.n_kv_heads, b.d_head, capacity) +
               AttentionScratch::floats(m.shape.attention, capacity) + static_cast<std::uint64_t>(chunk) * row +
               static_cast<std::uint64_t>(head_rows) * static_cast<std::uint64_t>(b.vocab_size);
    }

    void check_feed(std::span<const Token> tokens, std::span<const int> segments) const;
    View forward(std::span<const Token> tokens, std::span<const int> segments);
    View head(View rows);
    [[noreturn]] void not_finite(const std::string& stage) const;

    const Model* model;
    SessionOptions options;
    int capacity, chunk, head_rows;
    int size = 0; // tokens in the cache
    KvCache cache;
    AttentionScratch attention;
    Tensor x, normed, branch; // [chunk, d]: the residual stream, a branch's input and output
    Tensor qkv, attended, hidden;
    Tensor logits; // [head_rows, vocab]
};

namespace {

// Takes a session back to where it was unless all went well.
struct Rollback {
    int& size;
    int before = size;
    bool done = false;

    ~Rollback() {
        if (!done) size = before;
    }
};

} // namespace

void Session::Impl::check_feed(std::span<const Token> tokens, std::span<const int> segments) const {
    const Blueprint& b = model->impl().blueprint;
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
    for (const auto& encoding : model->impl().encodings.items())
        for (const int segment : segments)
            if (segment >= encoding->max_segment())
                fail(ErrorCode::limit, name_of(*encoding), ": segment ", segment, ", the table has ",
                     encoding->max_segment());
    if (b.mask == Mask::bidirectional && size != 0)
        fail(ErrorCode::usage, "session: a bidirectional model takes its whole input in one call; rewind to 0 first");
}

void Session::Impl::not_finite(const std::string& stage) const {
    fail(ErrorCode::model, model->impl().where, ": ", stage, " yields values that are not finite");
}

// One chunk of tokens through all layers: the rows [n, d] that the head reads. The cache grows by them.
View Session::Impl::forward(std::span<const Token> tokens, std::span<const int> segments) {
    const Model::Impl& m = model->impl();
    const auto n = static_cast<int>(tokens.size());
    const View rows = x.view(n);
    embed_tokens(tokens, m.weights.embedding, m.blueprint.embedding_scale, rows);
    const Positions positions = std::as_const(cache).positions().subspan(static_cast<std::size_t>(size), tokens.size());
    if (m.encodings.moments() & moment_embed) m.encodings.embed(rows, {positions, segments});
    if (m.blueprint.embedding_norm)
        norm(m.blueprint.norm, rows, m.weights.embedding_norm.weight, m.weights.embedding_norm.bias,
             m.blueprint.norm_eps, rows);
    if (!all_finite(rows)) not_finite("the embedding");

    const BlockScratch scratch{normed.view(), branch.view(), qkv.view(), attended.view(), hidden.view(), &attention};
    for (int layer = 0; layer < m.blueprint.n_layers; ++layer) {
        block(m.shape, m.weights.blocks[static_cast<std::size_t>(layer)], m.encodings, layer, size, cache, scratch,
              rows);
        if (!all_finite(rows)) not_finite("layer " + std::to_string(layer));
    }
    size += n;
    return rows;
}

// Logits of some rows of the residual stream, at most head_rows.
View Session::Impl::head(View rows) {
    const Model::Impl& m = model->impl();
    View in = rows;
    if (m.blueprint.final_norm) {
        in = normed.view(rows.rows);
        norm(m.blueprint.norm, rows, m.weights.final_norm.weight, m.weights.final_norm.bias, m.blueprint.norm_eps, in);
    }
    const View out = logits.view(rows.rows);
    linear(in, m.weights.head, out);
    if (!all_finite(out)) not_finite("the head"); // before the cap, which would hide it
    if (m.blueprint.final_softcap != 0) soft_cap(m.blueprint.final_softcap, out);
    return out;
}

// ---- The public face ------------------------------------------------------------------------

Session::Session(const Model& model, const SessionOptions& options) : impl_(std::make_unique<Impl>(model, options)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

std::span<const float> Session::feed(std::span<const Token> tokens, std::span<const int> segments) {
    Impl& s = *impl_;
    s.check_feed(tokens, segments);
    Rollback rollback{s.size};
    const auto chunk = static_cast<std::size_t>(s.chunk);
    View last{};
    for (std::size_t first = 0; first < tokens.size(); first += chunk) {
        const std::size_t n = std::min(chunk, tokens.size() - first);
        const View rows = s.forward(tokens.subspan(first, n), segments.empty() ? segments : segments.subspan(first, n));
        last = rows_of(rows, rows.rows - 1, 1);
    }
    const View logits = s.head(last);
    rollback.done = true;
    return {logits.data, static_cast<std::size_t>(logits.cols)};
}

void Session::feed_all(std::span<const Token> tokens, std::span<const int> segments,
                       const std::function<void(int first, View logits)>& on_logits) {
    Impl& s = *impl_;
    s.check_feed(tokens, segments);
    Rollback rollback{s.size};
    const auto chunk = static_cast<std::size_t>(s.chunk);
    for (std::size_t first = 0; first < tokens.size(); first += chunk) {
        const std::size_t n = std::min(chunk, tokens.size() - first);
        const View rows = s.forward(tokens.subspan(first, n), segments.empty() ? segments : segments.subspan(first, n));
        for (int i = 0; i < rows.rows; i += s.head_rows)
            on_logits(static_cast<int>(first) + i, s.head(rows_of(rows, i, std::min(s.head_rows, rows.rows - i))));
    }
    rollback.done = true;
}

int Session::size() const {
    return impl_->size;
}
int Session::capacity() const {
    return impl_->capacity;
}
const Model& Session::model() const {
    return *impl_->model;
}

void Session::rewind(int size) {
    if (size < 0 || size > impl_->size)
        fail(ErrorCode::limit, "session: rewind: expected 0 to ", impl_->size, " tokens, found ", size);
    if (size != 0 && size != impl_->size && impl_->model->impl().blueprint.mask == Mask::bidirectional)
        fail(ErrorCode::usage, "session: rewind: in a bidirectional model every token depends on all; expected 0 or ",
             impl_->size, ", found ", size);
    impl_->size = size;
}

} // namespace ordo
