// SPDX-License-Identifier: MIT
#include "model/sequence.h"

#include "core/error.h"
#include "core/number.h"
#include "core/parallel.h"
#include "model/memory_limit.h"

#include <algorithm>
#include <array>

namespace ordo {
namespace {

std::string name_of(const Encoding& encoding) {
    const std::string spec = encoding.spec();
    return spec.substr(0, spec.find(':'));
}

int checked_capacity(const Stack& model, const SessionOptions& options, const char* what) {
    if (options.capacity < 0)
        fail(ErrorCode::usage, what, ": capacity: expected 0 or more tokens, found ", options.capacity);
    if (options.chunk < 1) fail(ErrorCode::usage, what, ": chunk: expected 1 or more tokens, found ", options.chunk);
    if (options.first_position < 0)
        fail(ErrorCode::usage, what, ": first position: expected 0 or more, found ", options.first_position);
    if (options.axes < 1 || options.axes > most_axes)
        fail(ErrorCode::usage, what, ": axes: expected 1 to ", most_axes, ", found ", options.axes);
    if (options.capacity > most_session_tokens)
        fail(ErrorCode::limit, what, ": expected at most ", most_session_tokens, " tokens, found ", options.capacity);

    const std::int64_t first = options.first_position;
    std::int64_t capacity = options.capacity;
    for (const auto& encoding : model.encodings.items()) {
        const std::int64_t reach = encoding->limits().positions;
        // If the caller gave no capacity, a shorter session is acceptable; otherwise it must have that capacity.
        if (first + std::max<std::int64_t>(capacity, 1) <= reach) continue;
        fail(ErrorCode::limit, name_of(*encoding), ": expected positions below ", reach, ", found ",
             first + std::max<std::int64_t>(capacity, 1) - 1);
    }
    constexpr std::int64_t last = std::numeric_limits<int>::max();
    if (capacity == 0)
        capacity =
            std::min({std::int64_t{model.blueprint.context}, model.encodings.limits().positions - first, last - first});
    if (capacity < 1 || first + capacity > last)
        fail(ErrorCode::limit, what, ": position ", first + capacity, " is beyond ", last);
    return static_cast<int>(capacity);
}

// The greatest id of some positions. Those that encodings derive do not count.
int greatest(Positions all) {
    int most = all[0];
    for (std::size_t i = 0; i < all.size(); ++i)
        for (int axis = 0; axis < all.axes(); ++axis) most = std::max(most, all.at(i, axis));
    return most;
}

int least_tables(std::span<const EncodingsAtLength> all) {
    int least = std::numeric_limits<int>::max();
    for (const EncodingsAtLength& one : all) least = std::min(least, one.positions);
    return least;
}

} // namespace

// ---- A sequence -----------------------------------------------------------------------------

Sequence::Sequence(const Stack& of, const SessionOptions& wanted, const char* name, bool whole, int most_memory,
                   std::uint64_t weights, std::uint64_t others)
    : model(&of), what(name), capacity(checked_capacity(of, wanted, name)),
      chunk(whole ? capacity : std::min(wanted.chunk, capacity)), axes(wanted.axes),
      first_position(wanted.first_position) {
    const Blueprint& b = of.blueprint;
    KvCacheShape shape{b.n_layers, b.n_kv_heads, b.d_head, capacity, wanted.cache, axes, of.encodings.derived_axes()};
    if (of.encodings.moments() & (moment_observe | moment_shift))
        for (int i = 0; i < b.n_layers; ++i) shape.state_floats.push_back(of.encodings.layer(i).kept_floats());
    shape.chunk = chunk;
    shape.grows = true;
    if (wanted.forget_past_windows && !b.bidirectional())
        for (int i = 0; i < b.n_layers; ++i) shape.windows.push_back(b.layer(i).window);
    const PassSizes sizes{chunk, head_rows(), capacity, most_memory};
    const std::uint64_t bytes = KvCache::bytes(shape) + Pass::bytes(of, sizes) + others;
    expect_memory(joined(what, ": ", capacity, " tokens"), bytes, weights);
    session_bytes = bytes;
    try {
        changes_ = of.encodings.changes_beyond(capacity);
        by_length_ = all_lengths(0);
        encodings = by_length_.front().encodings;
        tables_ = least_tables(by_length_);
        if (!changes_.empty()) {
            cached_tokens_ = Buffer<Token>(static_cast<std::size_t>(capacity));
            cached_segments_ = Buffer<int>(static_cast<std::size_t>(capacity));
        }
        cache = KvCache(shape);
        pass = Pass(of, encodings, sizes);
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, what, ": not enough memory for ", capacity, " tokens (", bytes_text(bytes), ")");
    }
}

std::vector<EncodingsAtLength> Sequence::all_lengths(std::int64_t positions) const {
    std::vector<EncodingsAtLength> all;
    all.push_back(model->encodings_for({capacity, changes_.empty() ? capacity : changes_.front()}, positions));
    for (const int length : changes_) all.push_back(model->encodings_for({capacity, length + 1}, positions));
    return all;
}

// Logits of a large vocabulary are computed a few rows at a time: 4 MB, but at least one row.
int Sequence::head_rows() const {
    constexpr int most_floats = 1 << 20;
    return model->program.head.steps.empty() ? 0 : std::clamp(most_floats / model->blueprint.vocab_size, 1, chunk);
}

void Sequence::check(std::span<const Token> tokens, const TokenRows& rows) const {
    const Blueprint& b = model->blueprint;
    const std::span<const int> segments = rows.segments;
    if (tokens.empty()) fail(ErrorCode::usage, what, ": expected at least one token, found none");
    if (rows.to_come < 0) fail(ErrorCode::usage, what, ": tokens to come: expected 0 or more, found ", rows.to_come);
    if (!segments.empty() && segments.size() != tokens.size())
        fail(ErrorCode::usage, what, ": expected a segment for each of ", tokens.size(), " tokens, found ",
             segments.size());
    if (!rows.padding.empty() && rows.padding.size() != tokens.size())
        fail(ErrorCode::usage, what, ": expected for each of ", tokens.size(), " tokens whether it is padding, found ",
             rows.padding.size());
    if (!rows.padding.empty() && std::count(rows.padding.begin(), rows.padding.end(), 0) == 0)
        fail(ErrorCode::usage, what, ": expected a token that is not padding, found none");
    if (tokens.size() > static_cast<std::size_t>(capacity - size))
        fail(ErrorCode::limit, what, ": expected at most ", capacity, " tokens, found ", size, " and ", tokens.size(),
             " more");
    for (std::size_t i = 0; i < tokens.size(); ++i)
        if (tokens[i] < 0 || tokens[i] >= b.vocab_size)
            fail(ErrorCode::limit, what, ": token ", i, ": expected an id from 0 to ", b.vocab_size - 1, ", found ",
                 tokens[i]);
    for (std::size_t i = 0; i < segments.size(); ++i)
        if (segments[i] < 0) fail(ErrorCode::limit, what, ": segment ", i, ": expected 0 or more, found ", segments[i]);
    for (const auto& encoding : encodings->items())
        for (const int segment : segments)
            if (segment >= encoding->limits().segments)
                fail(ErrorCode::limit, name_of(*encoding), ": segment ", segment, ", the table has ",
                     encoding->limits().segments);
    check_positions(tokens.size(), rows.positions);
    if (b.bidirectional() && size != 0)
        fail(ErrorCode::usage, what, ": a bidirectional model takes its whole input in one call; rewind to 0 first");
}

void Sequence::check_positions(std::size_t tokens, Positions positions) const {
    if (positions.empty()) {
        const std::int64_t last = std::int64_t{next_position()} + static_cast<std::int64_t>(tokens) - 1;
        if (last >= encodings->limits().positions || last >= std::numeric_limits<int>::max())
            fail(ErrorCode::limit, what, ": expected positions below ", encodings->limits().positions, ", found ",
                 last);
        return;
    }
    if (positions.axes() != axes)
        fail(ErrorCode::usage, what, ": expected positions of ", axes, " axes, as it was made for, found ",
             positions.axes());
    if (positions.ids().size() != tokens * static_cast<std::size_t>(axes))
        fail(ErrorCode::usage, what, ": expected ", axes, " position ids for each of ", tokens, " tokens, found ",
             positions.ids().size());
    const int end = encodings->limits().given();
    for (const int id : positions.ids())
        if (id < 0 || id >= end)
            fail(ErrorCode::limit, what, ": expected positions from 0 to ", end - 1, ", found ", id);
}

// The greatest position id of the last token, plus one.
int Sequence::next_position() const {
    if (size == 0) return first_position;
    return greatest(cache.positions(size - 1, 1)) + 1;
}

void Sequence::place(std::size_t tokens, const TokenRows& rows) {
    const int next = next_position();
    int slot = size;
    std::array<int, most_axes> ids{};
    for (std::size_t i = 0; i < tokens; ++i) {
        if (!rows.padding.empty() && rows.padding[i] != 0) continue;
        for (int axis = 0; axis < axes; ++axis)
            ids[axis] = rows.positions.empty() ? next + static_cast<int>(i) : rows.positions.at(i, axis);
        cache.set_position(slot++, {ids.data(), static_cast<std::size_t>(axes)});
    }
}

void Sequence::derive(const Fed& fed, Positions given) {
    if (encodings->derived_axes() == 0) return;
    const IdView ids = cache.derived(size, static_cast<int>(fed.tokens.size()));
    if (given.empty()) return encodings->derive(fed.tokens, size > 0, 0, ids);
    for (int i = 0; i < ids.rows; ++i) encodings->take(given, fed.index(static_cast<std::size_t>(i)), ids.row(i));
}

Sequence::Fed Sequence::begin(std::span<const Token> tokens, const TokenRows& rows) {
    check(tokens, rows);
    extend_tables(tokens.size(), rows);
    place(tokens.size(), rows);
    const Fed fed = without_padding(tokens, rows);
    derive(fed, rows.positions);
    cache.reserve(static_cast<int>(std::min<std::int64_t>(capacity, size + std::ssize(fed.tokens) + rows.to_come)));
    go_by_length(fed, rows.to_come);
    return fed;
}

// Tables for the positions up to those to come, before anything else changes. Without them a text is slower, no more.
void Sequence::extend_tables(std::size_t tokens, const TokenRows& rows) {
    const std::span<const int> ids = rows.positions.ids();
    const std::int64_t last = ids.empty() ? std::int64_t{next_position()} + static_cast<std::int64_t>(tokens)
                                          : std::int64_t{*std::max_element(ids.begin(), ids.end())} + 1;
    const std::int64_t fed = size + static_cast<std::int64_t>(tokens);
    const std::int64_t later = std::min<std::int64_t>(rows.to_come, capacity - fed);
    std::int64_t wanted = last + later;
    if (wanted > most_prepared) wanted = fed + later; // distances at least
    if (wanted <= tables_) return;
    tables_ = std::numeric_limits<std::int64_t>::max(); // if these are the longest there are
    try {
        std::vector<EncodingsAtLength> longer = all_lengths(wanted);
        if (const int least = least_tables(longer); least >= wanted) tables_ = least;
        by_length_ = std::move(longer);
    } catch (const std::exception&) { // of memory, or of a caller's encoding
        return;
    }
    encodings = by_length_[now_].encodings;
    pass.use(encodings);
}

Sequence::Fed Sequence::without_padding(std::span<const Token> tokens, const TokenRows& rows) {
    if (rows.padding.empty()) return {tokens, rows.segments, {}};
    kept_.clear();
    kept_segments_.clear();
    indices_.clear();
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (rows.padding[i] != 0) continue;
        kept_.push_back(tokens[i]);
        if (!rows.segments.empty()) kept_segments_.push_back(rows.segments[i]);
        indices_.push_back(static_cast<int>(i));
    }
    return {kept_, kept_segments_, indices_};
}

// The greatest position of the first tokens in the cache, relative to the first, plus one.
std::int64_t Sequence::length_of(int tokens) const {
    const Positions all = cache.positions(0, tokens);
    const bool rising = all.known_consecutive() && axes == 1;
    return std::int64_t{rising ? all[tokens - 1] : greatest(all)} - first_position + 1;
}

void Sequence::go_by_length(const Fed& fed, int to_come) {
    if (changes_.empty()) return;
    if (size == 0) {
        least_ = 0;
        stale_ = false;
    }
    std::copy(fed.tokens.begin(), fed.tokens.end(), cached_tokens_.begin() + size);
    if (fed.segments.empty())
        std::fill_n(cached_segments_.begin() + size, fed.tokens.size(), 0);
    else
        std::copy(fed.segments.begin(), fed.segments.end(), cached_segments_.begin() + size);
    const std::int64_t length = length_of(size + static_cast<int>(fed.tokens.size())) + to_come;
    const auto beyond = std::lower_bound(changes_.begin(), changes_.end(), length); // the first limit not exceeded
    const std::size_t wanted = std::max(least_, static_cast<std::size_t>(beyond - changes_.begin()));
    if (wanted == now_ && !stale_) return;
    now_ = wanted;
    encodings = by_length_[now_].encodings;
    pass.use(encodings);
    if (size > 0) compute_again();
}

void Sequence::compute_again() {
    const auto n = static_cast<std::size_t>(size);
    const Fed all{{cached_tokens_.data(), n}, {cached_segments_.data(), n}, {}};
    stale_ = true;
    for (size = 0; static_cast<std::size_t>(size) < n;) forward(all, static_cast<std::size_t>(size), nullptr);
    stale_ = false;
}

template <class Run>
View Sequence::run_chunk(const Fed& fed, std::size_t first, const Run& run) {
    const std::size_t count = std::min(static_cast<std::size_t>(chunk), fed.tokens.size() - first);
    const auto n = static_cast<int>(count);
    const Part own = part(n);
    const View out = run(
        PassRows{fed.tokens.subspan(first, count),
                 {cache.positions(size, n), fed.segments.empty() ? fed.segments : fed.segments.subspan(first, count)},
                 {&own, 1}});
    size += n;
    return out;
}

View Sequence::forward(const Fed& fed, std::size_t first, const Watch* watch) {
    return run_chunk(fed, first, [&](const PassRows& in) { return pass.forward(in, watch); });
}

View Sequence::logits(const Fed& fed, const Watch* watch) {
    std::size_t first = 0;
    for (; fed.tokens.size() - first > static_cast<std::size_t>(chunk); first += static_cast<std::size_t>(chunk))
        forward(fed, first, watch);
    return run_chunk(fed, first, [&](const PassRows& in) { return pass.logits(in, watch); });
}

bool Sequence::can_rewind(int to) const {
    if (to < 0 || to > size) return false;
    if (model->blueprint.bidirectional() && to != 0 && to != size) return false;
    return to == size || cache.holds_before(to);
}

// ---- An encoder's input ---------------------------------------------------------------------

namespace {

SessionOptions of_input(const SessionOptions& wanted) {
    SessionOptions options;
    options.capacity = wanted.input;
    options.cache = wanted.cache;
    options.axes = wanted.axes;
    return options;
}

KvCacheShape memory_shape(const Blueprint& b, int capacity, CacheType type) {
    KvCacheShape shape{b.n_layers, b.n_kv_heads, b.d_head, capacity, type};
    shape.grows = true;
    return shape;
}

} // namespace

EncoderInput::EncoderInput(const Model::Impl& of, const SessionOptions& wanted)
    : model(&of), sequence(*of.encoder, of_input(wanted), "session: encoder", true, 0, weight_bytes(of)) {
    const int width = 2 * of.program.enter.sizes.kv_width(), capacity = sequence.capacity;
    const KvCacheShape shape = memory_shape(of.blueprint, capacity, wanted.cache);
    bytes = sequence.session_bytes + count_bytes([&] { return std::pair(KvCache(shape), Tensor(capacity, width)); });
    expect_memory(joined("session: encoder: ", capacity, " tokens"), bytes, weight_bytes(of));
    try {
        memory = KvCache(shape);
        kv = Tensor(capacity, width);
        if (of.weights.convert_rows()) scratch = RowScratch(capacity, of.blueprint.d_model);
    } catch (const std::bad_alloc&) {
        fail(ErrorCode::limit, "session: encoder: not enough memory for ", capacity, " tokens (", bytes_text(bytes),
             ")");
    }
}

View EncoderInput::encode(std::span<const Token> tokens, const TokenRows& rows) {
    sequence.size = 0;
    const Sequence::Fed fed = sequence.begin(tokens, rows);
    const View encoded = sequence.pass.states(sequence.forward(fed, 0, nullptr));
    const Model::Impl& m = *model;
    memory.reserve(encoded.rows);
    team(thread_count(), [&] {
        for (int i = 0; i < m.blueprint.n_layers; ++i)
            remember({m.program.layer(i), m.weights.layers[i], m.encodings.layer(i), i}, encoded, kv.view(encoded.rows),
                     scratch, memory);
    });
    return encoded;
}

} // namespace ordo
