// SPDX-License-Identifier: MIT
#include "layers/kv_cache.h"

#include "io/half.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

int round_up(int n, int step) {
    return (n + step - 1) / step * step;
}

std::uint64_t elements(int n_layers, int n_kv_heads, int d_head, int capacity) { // of the keys, or of the values
    const std::uint64_t padded = (static_cast<std::uint64_t>(capacity) + KvCache::block - 1) / KvCache::block;
    return padded * KvCache::block * static_cast<std::uint64_t>(n_layers) * static_cast<std::uint64_t>(n_kv_heads) *
           static_cast<std::uint64_t>(d_head);
}

// A key goes down a column of its block, a value along a row.
template <class T, class Convert>
void store_token(const float* key, const float* value, int d, T* column, T* row, Convert convert) {
    for (int j = 0; j < d; ++j) column[j * KvCache::block] = convert(key[j]);
    for (int j = 0; j < d; ++j) row[j] = convert(value[j]);
}

} // namespace

std::uint64_t KvCache::bytes(int n_layers, int n_kv_heads, int d_head, int capacity, CacheType type) {
    return 2 * elements(n_layers, n_kv_heads, d_head, capacity) *
           (type == CacheType::f32 ? sizeof(float) : sizeof(std::uint16_t));
}

KvCache::KvCache(int n_layers, int n_kv_heads, int d_head, int capacity, CacheType type)
    : type_(type), positions_(static_cast<std::size_t>(capacity)), n_kv_heads_(n_kv_heads), d_head_(d_head),
      capacity_(capacity), padded_(round_up(capacity, block)) {
    const auto n = static_cast<std::size_t>(elements(n_layers, n_kv_heads, d_head, capacity));
    if (type == CacheType::f32) {
        keys_ = Buffer<float>(n);
        values_ = Buffer<float>(n);
    } else {
        half_keys_ = Buffer<std::uint16_t>(n);
        half_values_ = Buffer<std::uint16_t>(n);
    }
}

std::size_t KvCache::head_start(int layer, int kv_head) const {
    return (static_cast<std::size_t>(layer) * static_cast<std::size_t>(n_kv_heads_) +
            static_cast<std::size_t>(kv_head)) *
           static_cast<std::size_t>(padded_) * static_cast<std::size_t>(d_head_);
}

void KvCache::store(int layer, int kv_head, int first, View k, View v) {
    const auto d = static_cast<std::size_t>(d_head_);
    for (int i = 0; i < k.rows; ++i) {
        const auto slot = static_cast<std::size_t>(first + i);
        for (int at = 0; at < k.cols; at += d_head_) {
            const std::size_t start = head_start(layer, kv_head + at / d_head_);
            const std::size_t column = start + slot / block * block * d + slot % block, row = start + slot * d;
            if (type_ == CacheType::f32)
                store_token(k.row(i) + at, v.row(i) + at, d_head_, keys_.data() + column, values_.data() + row,
                            [](float x) { return x; });
            else
                store_token(k.row(i) + at, v.row(i) + at, d_head_, half_keys_.data() + column,
                            half_values_.data() + row, f16_from_float);
        }
    }
}

void KvCache::multiply_keys(int layer, int kv_head, int index, float scale, View q, View scores) const {
    const Kernels& k = kernels();
    const std::size_t at =
        head_start(layer, kv_head) + static_cast<std::size_t>(index) * block * static_cast<std::size_t>(d_head_);
    if (type_ == CacheType::f32)
        k.product(scores.rows, scores.cols, d_head_, scale, q.data, q.stride, 1, keys_.data() + at, block, 0,
                  scores.data, scores.stride);
    else
        k.product_halves(scores.rows, scores.cols, d_head_, scale, q.data, q.stride, 1, half_keys_.data() + at, block,
                         0, scores.data, scores.stride);
}

void KvCache::multiply_values(int layer, int kv_head, int first, View weights, View out) const {
    const Kernels& k = kernels();
    const std::size_t at =
        head_start(layer, kv_head) + static_cast<std::size_t>(first) * static_cast<std::size_t>(d_head_);
    if (type_ == CacheType::f32)
        k.product(out.rows, d_head_, weights.cols, 1, weights.data, weights.stride, 1, values_.data() + at, d_head_, 0,
                  out.data, out.stride);
    else
        k.product_halves(out.rows, d_head_, weights.cols, 1, weights.data, weights.stride, 1, half_values_.data() + at,
                         d_head_, 0, out.data, out.stride);
}

} // namespace ordo
