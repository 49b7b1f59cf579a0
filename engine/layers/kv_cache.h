// SPDX-License-Identifier: MIT
// The keys and values of one sequence, for every layer and key/value head, and the encodings' state of its tokens.
#pragma once

#include "layers/cache_format.h"

#include <algorithm>
#include <functional>

namespace ordo {

struct KvCacheShape {
    int n_layers = 0, n_kv_heads = 0, d_head = 0;
    int capacity = 0; // tokens
    CacheType type = CacheType::f32;
    int axes = 1;                       // of positions
    int derived_axes = 0;               // ids behind them that encodings derive from the tokens
    std::vector<int> state_floats = {}; // floats for a token, of each layer; empty: none
    // The window of each layer: the keys that a query sees, and the number of keys kept; 0: all. Empty: all layers keep
    // all.
    std::vector<int> windows = {};
    int chunk = 0;      // maximum tokens of one feed, if there are windows
    bool grows = false; // starts empty and grows with reserve()
};

// A token's slot in the cache is its index in the sequence, which masks and windows use. Its position ids, with which
// its keys were encoded, are stored separately. Keys and values are in slabs of 64 tokens (CacheFormat).
class KvCache {
public:
    static constexpr int slab = CacheFormat::slab; // tokens

    KvCache() = default;
    explicit KvCache(const KvCacheShape& shape);
    // The memory of such a cache, for limits. Within the ranges of a Blueprint it cannot overflow.
    static std::uint64_t bytes(const KvCacheShape& shape);

    int capacity() const { return shape_.capacity; }
    const KvCacheShape& shape() const { return shape_; }

    // Makes room for the first `tokens` tokens of a sequence, at most capacity(). The tokens of a head are one run, and
    // the runs of all heads are adjacent. A short text in a cache of large capacity therefore uses few pages, which may
    // be huge. When the text outgrows the runs, they move apart. Allocates nothing.
    void reserve(int tokens);
    // Makes room for the next rows, from slot `first` on. Layers with a window drop tokens that none of the rows sees,
    // if their room is needed.
    void make_room(int first, int rows);
    // The first token that queries of a layer with a window may see. Earlier ones were dropped before evict().
    int floor(int layer) const { return layers_[layer].floor; }
    // Whether all tokens that a token in slot `size` would see are stored.
    bool holds_before(int size) const;
    // Whether a token in slot `size` can be fed. It may see less than its window if evict() needed tokens that had been
    // dropped.
    bool goes_on_from(int size) const;
    // Moves the tokens of a layer from first + count to size down by count. turn(k [n, heads * d_head], slot) changes
    // the moved keys of n tokens, which were in slots from `slot` on. keys and values [64, heads * d_head] are working
    // memory.
    void evict(int layer, int first, int count, int size, View keys, View values,
               const std::function<void(View k, int slot)>& turn);

    // Position ids of some slots, and [axes] for one slot. The ids of earlier slots must be set before.
    Positions positions(int first, int count) const;
    void set_position(int slot, std::span<const int> ids);
    // The derived ids of some slots, [count, derived_axes], to be written.
    IdView derived(int first, int count) {
        const int stride = shape_.axes + shape_.derived_axes;
        return {positions_.data() + std::ptrdiff_t{first} * stride + shape_.axes, count, shape_.derived_axes, stride};
    }

    // Stores rows of k and v [n, heads * d_head], for heads from kv_head on, in the slots from `first` on.
    void store(int layer, int kv_head, int first, View k, View v);
    // scores [n, m] = scale * q [n, d_head] * k^T, for the m tokens from `first` on, where a slab begins. memory:
    // CacheFormat::query_bytes(n, d_head), aligned for floats.
    void multiply_keys(int layer, int kv_head, int first, float scale, View q, std::byte* memory, View scores) const;
    // out [n, d_head] = weights [n, m] * v, for the same tokens.
    void multiply_values(int layer, int kv_head, int first, View weights, View out) const;
    // out [n, d_head]: the keys of the n tokens from `first` on, as floats.
    void keys(int layer, int kv_head, int first, View out) const;
    // The same for values.
    void values(int layer, int kv_head, int first, View out) const;
    // The state that OBSERVE wrote for the n tokens from `first` on, [n, state_floats of the layer].
    View state(int layer, int first, int count);

private:
    // One layer. It holds the tokens from `base` on. base is a multiple of the slab, so that the slabs are the same as
    // in a cache that drops nothing.
    struct Layer {
        int most = 0, window = 0;               // maximum number of slots
        int slots = 0;                          // current number of slots
        std::size_t start = 0, state_start = 0; // in bytes of keys_ or of values_; in floats of states_
        int base = 0, floor = 0;
        int first_held() const { return std::max(base, floor); }
    };
    struct Run {
        std::size_t from, to, bytes;
    };
    static void spread(std::byte* memory, std::span<const Run> runs);
    int grown(int tokens) const;
    static int slots_of(const KvCacheShape& shape, int layer);
    const Layer& layer_of(int layer) const { return layers_[layer]; }
    std::size_t head_start(int layer, int kv_head) const;                                    // as Layer::start
    std::size_t slab_of(int layer, int kv_head, int slot) const;                             // likewise
    int place_of(int layer, int slot) const { return (slot - layer_of(layer).base) % slab; } // in its slab

    KvCacheShape shape_;
    const CacheFormat* format_ = nullptr;
    std::size_t token_bytes_ = 0; // of a head's key, or of its value
    std::vector<Layer> layers_;
    int room_ = 0;                    // tokens for which layers without a window have room
    Buffer<std::byte> keys_, values_; // of each layer [kv_heads, slabs]
    Buffer<int> positions_;           // [slots, axes + derived_axes]
    int consecutive_ = 0;             // the first slots, as far as their positions are consecutive
    Buffer<float> states_;            // of each layer [room_, state_floats]
    std::vector<Run> runs_;           // working memory of reserve()
};

} // namespace ordo
