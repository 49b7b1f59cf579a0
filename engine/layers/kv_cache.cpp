// SPDX-License-Identifier: MIT
#include "layers/kv_cache.h"

#include <algorithm>
#include <cstring>

namespace ordo {
namespace {

int round_up(int n, int step) {
    return (n + step - 1) / step * step;
}
int whole_slabs_below(int slot) {
    return slot / KvCache::slab * KvCache::slab;
}

std::uint64_t state_elements(const KvCacheShape& s) {
    std::uint64_t floats = 0;
    for (const int n : s.state_floats) floats += static_cast<std::uint64_t>(n);
    return floats * static_cast<std::uint64_t>(s.capacity);
}

} // namespace

// Beyond the window there is room for one chunk of tokens and more, so that the window seldom moves.
int KvCache::slots_of(const KvCacheShape& s, int layer) {
    const int window = s.windows.empty() ? 0 : s.windows[layer];
    const int whole = round_up(s.capacity, slab);
    if (window == 0) return whole;
    const std::int64_t slots = std::int64_t{window} + s.chunk + window / 8 + 3 * slab;
    return slots < whole ? whole_slabs_below(static_cast<int>(slots)) : whole;
}

std::uint64_t KvCache::bytes(const KvCacheShape& shape) {
    return count_bytes([&] { return KvCache(shape); });
}

KvCache::KvCache(const KvCacheShape& s)
    : shape_(s), format_(&cache_format(s.type)), token_bytes_(format_->token_bytes(s.d_head)),
      positions_(static_cast<std::size_t>(s.capacity) * static_cast<std::size_t>(s.axes + s.derived_axes)),
      states_(static_cast<std::size_t>(state_elements(s)), Contents::any) {
    std::size_t slots = 0;
    for (int layer = 0; layer < s.n_layers; ++layer) {
        layers_.push_back({.most = slots_of(s, layer), .window = s.windows.empty() ? 0 : s.windows[layer]});
        slots += static_cast<std::size_t>(layers_.back().most);
    }
    const std::size_t bytes = slots * static_cast<std::size_t>(s.n_kv_heads) * token_bytes_;
    keys_ = Buffer<std::byte>(bytes, Contents::any); // products ignore slots that no token has written
    values_ = Buffer<std::byte>(bytes, Contents::any);
    runs_.reserve(static_cast<std::size_t>(s.n_layers) * static_cast<std::size_t>(std::max(s.n_kv_heads, 1)));
    if (!s.grows) reserve(s.capacity);
}

// ---- Growing ----------------------------------------------------------------------------------

// Half as many again, so that runs seldom move. The whole capacity, once a head fills a huge page of its own.
int KvCache::grown(int tokens) const {
    const int all = round_up(shape_.capacity, slab);
    const std::int64_t more = std::int64_t{tokens} + tokens / 2;
    if (more >= all || static_cast<std::size_t>(tokens) * token_bytes_ >= huge_page) return all;
    return round_up(static_cast<int>(more), slab);
}

// Moves the runs, the last first, each to a place that no earlier run still uses.
void KvCache::spread(std::byte* memory, std::span<const Run> runs) {
    for (std::size_t i = runs.size(); i-- > 0;)
        if (runs[i].bytes != 0) std::memmove(memory + runs[i].to, memory + runs[i].from, runs[i].bytes);
}

void KvCache::reserve(int tokens) {
    if (tokens <= room_) return;
    const std::size_t heads = static_cast<std::size_t>(shape_.n_kv_heads);
    const int before = room_;
    room_ = tokens >= shape_.capacity ? round_up(shape_.capacity, slab) : grown(tokens);
    runs_.clear();
    std::size_t start = 0;
    for (Layer& layer : layers_) {
        const int slots = std::min(layer.most, room_);
        const std::size_t old = static_cast<std::size_t>(layer.slots) * token_bytes_,
                          now = static_cast<std::size_t>(slots) * token_bytes_;
        for (std::size_t head = 0; head < heads; ++head)
            runs_.push_back({layer.start + head * old, start + head * now, old});
        layer.slots = slots;
        layer.start = start;
        start += heads * now;
    }
    spread(keys_.data(), runs_);
    spread(values_.data(), runs_);
    if (shape_.state_floats.empty()) return;
    runs_.clear();
    start = 0;
    const auto held = [&](int slots) { return static_cast<std::size_t>(std::min(slots, shape_.capacity)); };
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        const auto floats = static_cast<std::size_t>(shape_.state_floats[i]);
        runs_.push_back(
            {sizeof(float) * layers_[i].state_start, sizeof(float) * start, sizeof(float) * held(before) * floats});
        layers_[i].state_start = start;
        start += held(room_) * floats;
    }
    spread(reinterpret_cast<std::byte*>(states_.data()), runs_);
}

// ---- Eviction ---------------------------------------------------------------------------------

void KvCache::make_room(int first, int rows) {
    reserve(first + rows);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        Layer& layer = layers_[i];
        if (first == 0) layer.base = layer.floor = 0;
        if (first + rows - layer.base <= layer.slots) continue;
        const int base = whole_slabs_below(std::max({0, layer.floor, first + 1 - layer.window}));
        const std::size_t from = static_cast<std::size_t>(base - layer.base) * token_bytes_,
                          count = static_cast<std::size_t>(round_up(first, slab) - base) * token_bytes_;
        for (int head = 0; head < shape_.n_kv_heads; ++head) {
            for (Buffer<std::byte>* const of : {&keys_, &values_}) {
                std::byte* const to = of->data() + head_start(static_cast<int>(i), head);
                std::memmove(to, to + from, count);
            }
        }
        layer.base = base;
    }
}

bool KvCache::holds_before(int size) const {
    return size == 0 || std::all_of(layers_.begin(), layers_.end(), [size](const Layer& layer) {
               return layer.first_held() == 0 || size + 1 - layer.window >= layer.first_held();
           });
}

bool KvCache::goes_on_from(int size) const {
    return size == 0 || std::all_of(layers_.begin(), layers_.end(), [size](const Layer& layer) {
               return layer.base == 0 || layer.base <= std::max(layer.floor, size + 1 - layer.window);
           });
}

void KvCache::evict(int layer, int first, int count, int size, View keys, View values,
                    const std::function<void(View k, int slot)>& turn) {
    Layer& own = layers_[layer];
    const Layer before = own;
    Layer after = own;
    int from = first + count; // the first token that moves
    if (first < before.first_held()) {
        // Some or all of the tokens to evict have been evicted already, with all tokens before them. The tokens that
        // the next one may see move to the front.
        from = std::max({from, before.first_held(), size + 1 - own.window});
        after.floor = from - count;
        after.base = whole_slabs_below(after.floor);
        // Products also read the places before the floor in its slab, with a weight of 0. Earlier tokens wrote them.
    } else if (size - count + 1 - own.window < before.first_held()) {
        after.floor = before.first_held(); // the window of a shorter sequence reaches back to evicted tokens
    }
    const int e = shape_.d_head;
    const auto move = [&](int slot, int n) {
        const View k = rows_of(keys, 0, n), v = rows_of(values, 0, n);
        own = before;
        for (int head = 0; head < shape_.n_kv_heads; ++head) {
            this->keys(layer, head, slot, cols_of(k, head * e, e));
            this->values(layer, head, slot, cols_of(v, head * e, e));
        }
        turn(k, slot);
        own = after;
        store(layer, 0, slot - count, k, v);
    };
    const bool up = before.base - count > after.base; // upwards: no token that still has to move may be overwritten
    for (int done = 0, n = 0; done < size - from; done += n) {
        n = std::min(size - from - done, slab);
        move(up ? size - done - n : from + done, n);
    }
    own = after;
}

// ---- Contents -------------------------------------------------------------------------------

Positions KvCache::positions(int first, int count) const {
    const auto stride = static_cast<std::size_t>(shape_.axes + shape_.derived_axes);
    const std::span<const int> all(positions_);
    const Positions some(
        all.subspan(static_cast<std::size_t>(first) * stride, static_cast<std::size_t>(count) * stride), shape_.axes,
        static_cast<int>(stride));
    return some.known_consecutive(first + count <= consecutive_);
}

void KvCache::set_position(int slot, std::span<const int> ids) {
    const int stride = shape_.axes + shape_.derived_axes;
    int* const to = positions_.data() + static_cast<std::ptrdiff_t>(slot) * stride;
    std::copy(ids.begin(), ids.end(), to);
    const bool follows = slot == 0 || std::int64_t{to[0]} - to[-stride] == 1; // on the first axis
    consecutive_ = std::min(consecutive_, slot);
    if (consecutive_ == slot && follows) ++consecutive_;
}

View KvCache::state(int layer, int first, int count) {
    if (shape_.state_floats.empty()) return {};
    const auto i = static_cast<std::size_t>(layer);
    const int floats = shape_.state_floats[i];
    if (floats == 0) return {};
    return rows_of(view(states_.data() + layers_[i].state_start, shape_.capacity, floats), first, count);
}

std::size_t KvCache::head_start(int layer, int kv_head) const {
    const Layer& own = layer_of(layer);
    return own.start + static_cast<std::size_t>(kv_head) * static_cast<std::size_t>(own.slots) * token_bytes_;
}

std::size_t KvCache::slab_of(int layer, int kv_head, int slot) const {
    return head_start(layer, kv_head) +
           static_cast<std::size_t>(whole_slabs_below(slot - layer_of(layer).base)) * token_bytes_;
}

void KvCache::keys(int layer, int kv_head, int first, View out) const {
    for (int i = 0; i < out.rows; ++i)
        format_->read_key(keys_.data() + slab_of(layer, kv_head, first + i), place_of(layer, first + i), out.row(i),
                          shape_.d_head);
}

void KvCache::values(int layer, int kv_head, int first, View out) const {
    for (int i = 0; i < out.rows; ++i)
        format_->read_value(values_.data() + slab_of(layer, kv_head, first + i), place_of(layer, first + i), out.row(i),
                            shape_.d_head);
}

void KvCache::store(int layer, int kv_head, int first, View k, View v) {
    const int d = shape_.d_head;
    for (int i = 0, n = 0; i < k.rows; i += n) {
        const int place = place_of(layer, first + i);
        n = std::min(k.rows - i, slab - place);
        for (int at = 0; at < k.cols; at += d) {
            const std::size_t slab_at = slab_of(layer, kv_head + at / d, first + i);
            format_->write_keys(cols_of(rows_of(k, i, n), at, d), keys_.data() + slab_at, place);
            format_->write_values(cols_of(rows_of(v, i, n), at, d), values_.data() + slab_at, place);
        }
    }
}

void KvCache::multiply_keys(int layer, int kv_head, int first, float scale, View q, std::byte* memory,
                            View scores) const {
    format_->multiply_keys(keys_.data() + slab_of(layer, kv_head, first), scale, q, memory, scores);
}

void KvCache::multiply_values(int layer, int kv_head, int first, View weights, View out) const {
    format_->multiply_values(values_.data() + slab_of(layer, kv_head, first), weights, out);
}

} // namespace ordo
