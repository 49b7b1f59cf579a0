// SPDX-License-Identifier: MIT
// The keys and values of one sequence, for every layer and key/value head, and what encodings keep of its tokens.
#pragma once

#include "core/tensor.h"

namespace ordo {

struct KvCacheShape {
    int n_layers = 0, n_kv_heads = 0, d_head = 0;
    int capacity = 0; // tokens
    CacheType type = CacheType::f32;
    int axes = 1;                       // of positions
    std::vector<int> state_floats = {}; // of each layer, a token; empty: none
};

// A token's slot in the cache is its index in the sequence, which masks and windows go by; what its
// keys were encoded with are its position ids, kept beside. Keys lie in blocks of 64 tokens, each
// [d_head, 64]: a block's scores are one small matrix product on contiguous memory, whether one
// query asks or many, and no row has to be summed up across.
class KvCache {
public:
    static constexpr int block = 64; // tokens

    KvCache() = default;
    explicit KvCache(const KvCacheShape& shape);
    // What such a cache takes, for limits; nothing overflows within the ranges of a Blueprint.
    static std::uint64_t bytes(const KvCacheShape& shape);

    int capacity() const { return shape_.capacity; }

    // Position ids of some slots, and [axes] for one slot; those of the slots before it are known by then.
    Positions positions(int first, int count) const;
    void set_position(int slot, std::span<const int> ids);

    // Rows of k and v [n, heads * d_head], of the heads from kv_head on, go to the slots from first on.
    void store(int layer, int kv_head, int first, View k, View v);
    // scores [n, width] = scale * q * k^T for the tokens from 64 * index on, at most 64 of them; q [n,
    // d_head]. Slots never filled hold zeros.
    void multiply_keys(int layer, int kv_head, int index, float scale, View q, View scores) const;
    // out [n, d_head] = weights [n, m] * v, of the m tokens from first on.
    void multiply_values(int layer, int kv_head, int first, View weights, View out) const;
    // out [n, d_head]: the keys of the n tokens from first on, as floats.
    void keys(int layer, int kv_head, int first, View out) const;
    // Likewise the values.
    void values(int layer, int kv_head, int first, View out) const;
    // What OBSERVE wrote of the n tokens from first on, [n, state_floats of the layer].
    View state(int layer, int first, int count);

private:
    std::size_t head_start(int layer, int kv_head) const; // in elements of keys_ or of values_

    KvCacheShape shape_;
    // [layers, kv_heads, blocks, d_head, 64] and [layers, kv_heads, slots, d_head]; one of the pairs is in use
    Buffer<float> keys_, values_;
    Buffer<std::uint16_t> half_keys_, half_values_;
    Buffer<int> positions_; // [slots, axes]
    int consecutive_ = 0;   // so many slots from the first on have positions that follow each other
    Buffer<float> states_;  // of each layer [slots, state_floats]
    std::vector<std::size_t> state_starts_;
    int padded_ = 0;
};

} // namespace ordo
