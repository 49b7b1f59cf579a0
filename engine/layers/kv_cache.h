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
    KvCache(int n_layers, int n_kv_heads, int d_head, int capacity);
    // Floats that such a cache holds, for limits; nothing overflows within the ranges of a Blueprint.
    static std::uint64_t floats(int n_layers, int n_kv_heads, int d_head, int capacity);

    int capacity() const { return capacity_; }

    // Position ids of all slots, of which the first are in use.
    std::span<int> positions() { return positions_; }
    std::span<const int> positions() const { return positions_; }

    // Rows of k and v [n, n_kv_heads * d_head] go to the slots from first on.
    void store(int layer, int first, View k, View v);
    // The block of keys [d_head, 64] of the tokens from 64 * index on. Slots never filled hold zeros.
    const float* keys(int layer, int kv_head, int index) const;
    // Values [capacity, d_head].
    const float* values(int layer, int kv_head) const;

private:
    std::size_t head_size() const; // floats in the keys, or the values, of one head

    Buffer<float> keys_, values_; // [layers, kv_heads, ...]
    Buffer<int> positions_;
    int n_kv_heads_ = 0, d_head_ = 0, capacity_ = 0, padded_ = 0;
};

} // namespace ordo
