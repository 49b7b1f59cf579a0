// SPDX-License-Identifier: MIT
// The keys and values of one sequence, for every layer and key/value head.
#pragma once

#include "core/tensor.h"

namespace ordo {

// A token's slot in the cache is its index in the sequence, which masks and windows go by; what its
// keys were encoded with is its position id, kept beside. Keys lie in blocks of 64 tokens, each
// [d_head, 64]: a block's scores are one small matrix product on contiguous memory, whether one
// query asks or many, and no row has to be summed up across.
class KvCache {
public:
    static constexpr int block = 64; // tokens

    KvCache() = default;
    KvCache(int n_layers, int n_kv_heads, int d_head, int capacity, CacheType type = CacheType::f32);
    // What such a cache takes, for limits; nothing overflows within the ranges of a Blueprint.
    static std::uint64_t bytes(int n_layers, int n_kv_heads, int d_head, int capacity, CacheType type = CacheType::f32);

    int capacity() const { return capacity_; }

    // Position ids of all slots, of which the first are in use.
    std::span<int> positions() { return positions_; }
    std::span<const int> positions() const { return positions_; }

    // Rows of k and v [n, heads * d_head], of the heads from kv_head on, go to the slots from first on.
    void store(int layer, int kv_head, int first, View k, View v);
    // scores [n, width] = scale * q * k^T for the tokens from 64 * index on, at most 64 of them; q [n,
    // d_head]. Slots never filled hold zeros.
    void multiply_keys(int layer, int kv_head, int index, float scale, View q, View scores) const;
    // out [n, d_head] = weights [n, m] * v, of the m tokens from first on.
    void multiply_values(int layer, int kv_head, int first, View weights, View out) const;

private:
    std::size_t head_start(int layer, int kv_head) const; // in elements of keys_ or of values_

    CacheType type_ = CacheType::f32;
    // [layers, kv_heads, blocks, d_head, 64] and [layers, kv_heads, slots, d_head]; one of the pairs is in use
    Buffer<float> keys_, values_;
    Buffer<std::uint16_t> half_keys_, half_values_;
    Buffer<int> positions_;
    int n_kv_heads_ = 0, d_head_ = 0, capacity_ = 0, padded_ = 0;
};

} // namespace ordo
