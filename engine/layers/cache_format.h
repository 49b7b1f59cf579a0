// SPDX-License-Identifier: MIT
// The memory layout of the keys and values of one head, by the type of a cache.
#pragma once

#include "core/tensor.h"

namespace ordo {

// "f32", "f16", "bf16", "q8_0". Throws Error(usage) for another name.
CacheType cache_type(std::string_view name);
const char* name_of(CacheType type);

// A slab holds 64 tokens. Their keys are transposed, so that the scores of a slab are one small matrix product on
// contiguous memory, for any number of queries. No sum goes across a row:
//   f32, f16  keys [d, 64], values [64, d]
//   bf16      pairs, for products of pairs of bf16. d is padded to a multiple of 32. Keys are two panels of
//             bf16 (kernels/kernels.h), values have the layout of Kernels::product_pair_slabs.
//   q8_0      blocks of 32 along d, the last one padded with zeros. Keys are two panels of 32 outputs each
//             (kernels/kernels.h), values have the layout of Kernels::product_slabs. Each row is quantised on its own.
//             Its scales are f16: blocks whose maximum is below 127 * 2^-14 = 0.008 lose bits, and below 4e-6 all.
// No result depends on bytes that no token has written. In the functions for some tokens, `slab` is their slab and i
// the place of the first in it.
class CacheFormat {
public:
    static constexpr int slab = 64; // tokens

    virtual ~CacheFormat() = default;
    virtual std::size_t token_bytes(int d) const = 0; // of a key, or of a value; a slab has 64 times as many
    virtual void write_keys(View keys, std::byte* slab, int i) const = 0; // [n, d], for the places from i on
    virtual void write_values(View values, std::byte* slab, int i) const = 0;
    virtual void read_key(const std::byte* slab, int i, float* key, int d) const = 0;
    virtual void read_value(const std::byte* slab, int i, float* value, int d) const = 0;
    // scores [n, m] = scale * q [n, d] * keys^T, for the first m tokens of consecutive slabs. Each row has the same
    // bits as that row alone. memory: query_bytes(n, d), aligned for floats.
    virtual void multiply_keys(const std::byte* slabs, float scale, View q, std::byte* memory, View scores) const = 0;
    // out [n, d] = weights [n, m] * values, with the same guarantee.
    virtual void multiply_values(const std::byte* slabs, View weights, View out) const = 0;

    static std::size_t query_bytes(int n, int d); // enough for any format
};
const CacheFormat& cache_format(CacheType type);

} // namespace ordo
