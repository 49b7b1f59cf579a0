// SPDX-License-Identifier: MIT
// The keys and values of one sequence, for every layer and key/value head, and what encodings keep of its tokens.
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
    std::vector<int> state_floats = {}; // of each layer, a token; empty: none
    // Of each layer, the keys that a query sees, of which no more are kept; 0: all. Empty: all are kept in every layer.
    std::vector<int> windows = {};
    int chunk = 0;      // tokens that come at once, where windows are given
    bool grows = false; // from nothing, by reserve()
};

// A token's slot in the cache is its index in the sequence, which masks and windows go by; what its
// keys were encoded with are its position ids, kept beside. Keys and values lie in slabs of 64 tokens (CacheFormat).
class KvCache {
public:
    static constexpr int slab = CacheFormat::slab; // tokens

    KvCache() = default;
    explicit KvCache(const KvCacheShape& shape);
    // What such a cache takes, for limits; nothing overflows within the ranges of a Blueprint.
    static std::uint64_t bytes(const KvCacheShape& shape);

    int capacity() const { return shape_.capacity; }

    // Makes room for the first tokens of a sequence, at most capacity() of them. What a head keeps lies in one run, and
    // the runs of all heads side by side, so that a short text in a cache of a large capacity fills few pages, which
    // may be huge. The runs move apart where the text has outgrown them. Allocates nothing.
    void reserve(int tokens);
    // Lets layers with a window forget what none of the tokens from slot `first` on sees, if that takes to hold them.
    void make_room(int first, int rows);
    // The first token that queries of a layer with a window may see: evict() found those before it forgotten.
    int floor(int layer) const { return layers_[static_cast<std::size_t>(layer)].floor; }
    // Whether all that a token in slot `size` would see is there.
    bool holds_before(int size) const;
    // Whether a token in slot `size` can be fed: it may see less than its window where evict() found something
    // forgotten.
    bool goes_on_from(int size) const;
    // The tokens of a layer from first + count to size move down by count. turn(k [n, heads * d_head], slot) changes
    // the keys of n tokens on their way, which were in slots from `slot` on; keys and values [64, heads * d_head] are
    // working memory.
    void evict(int layer, int first, int count, int size, View keys, View values,
               const std::function<void(View k, int slot)>& turn);

    // Position ids of some slots, and [axes] for one slot; those of the slots before it are known by then.
    Positions positions(int first, int count) const;
    void set_position(int slot, std::span<const int> ids);

    // Rows of k and v [n, heads * d_head], of the heads from kv_head on, go to the slots from first on.
    void store(int layer, int kv_head, int first, View k, View v);
    // scores [n, m] = scale * q [n, d_head] * k^T, of the m tokens from first on, with which a slab begins. Slots never
    // filled hold zeros. memory: CacheFormat::query_bytes(n, d_head), aligned as floats are.
    void multiply_keys(int layer, int kv_head, int first, float scale, View q, std::byte* memory, View scores) const;
    // out [n, d_head] = weights [n, m] * v, likewise.
    void multiply_values(int layer, int kv_head, int first, View weights, View out) const;
    // out [n, d_head]: the keys of the n tokens from first on, as floats.
    void keys(int layer, int kv_head, int first, View out) const;
    // Likewise the values.
    void values(int layer, int kv_head, int first, View out) const;
    // What OBSERVE wrote of the n tokens from first on, [n, state_floats of the layer].
    View state(int layer, int first, int count);

private:
    // Of one layer: kept are the tokens from base on, a multiple of the slab, so that all slabs are what they would be
    // if nothing were forgotten.
    struct Layer {
        int most = 0, window = 0;               // slots that it may come to
        int slots = 0;                          // that there is room for now
        std::size_t start = 0, state_start = 0; // in bytes of keys_ or of values_; in floats of states_
        int base = 0, floor = 0;
        int first_held() const { return std::max(base, floor); }
    };
    // A run of bytes that moves: `before` of them from one place to another, where it has room for `after`.
    struct Run {
        std::size_t from, to, before, after;
    };
    static void spread(std::byte* memory, std::span<const Run> runs);
    int grown(int tokens) const;
    static int slots_of(const KvCacheShape& shape, int layer);
    const Layer& layer_of(int layer) const { return layers_[static_cast<std::size_t>(layer)]; }
    std::size_t head_start(int layer, int kv_head) const;                                    // as Layer::start
    std::size_t slab_of(int layer, int kv_head, int slot) const;                             // likewise
    int place_of(int layer, int slot) const { return (slot - layer_of(layer).base) % slab; } // in its slab

    KvCacheShape shape_;
    const CacheFormat* format_ = nullptr;
    std::size_t token_bytes_ = 0; // of a head's key, or value
    std::vector<Layer> layers_;
    int room_ = 0;                    // tokens that layers without a window have room for
    Buffer<std::byte> keys_, values_; // of each layer [kv_heads, slabs]
    Buffer<int> positions_;           // [slots, axes]
    int consecutive_ = 0;             // so many slots from the first on have positions that follow each other
    Buffer<float> states_;            // of each layer [room_, state_floats]
    std::vector<Run> runs_;           // working memory of reserve()
};

} // namespace ordo
