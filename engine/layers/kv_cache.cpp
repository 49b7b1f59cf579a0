// SPDX-License-Identifier: MIT
#include "layers/kv_cache.h"

#include "core/parallel.h"

#include <algorithm>

namespace ordo {
namespace {

int round_up(int n, int step) {
    return (n + step - 1) / step * step;
}

} // namespace

std::uint64_t KvCache::floats(int n_layers, int n_kv_heads, int d_head, int capacity) {
    const std::uint64_t padded = (static_cast<std::uint64_t>(capacity) + block - 1) / block * block;
    return 2 * padded * static_cast<std::uint64_t>(n_layers) * static_cast<std::uint64_t>(n_kv_heads) *
           static_cast<std::uint64_t>(d_head);
}

KvCache::KvCache(int n_layers, int n_kv_heads, int d_head, int capacity)
    : keys_(floats(n_layers, n_kv_heads, d_head, capacity) / 2),
      values_(floats(n_layers, n_kv_heads, d_head, capacity) / 2), positions_(static_cast<std::size_t>(capacity)),
      n_kv_heads_(n_kv_heads), d_head_(d_head), capacity_(capacity), padded_(round_up(capacity, block)) {}

std::size_t KvCache::head_size() const {
    return static_cast<std::size_t>(padded_) * static_cast<std::size_t>(d_head_);
}

const float* KvCache::keys(int layer, int kv_head, int index) const {
    const auto head =
        static_cast<std::size_t>(layer) * static_cast<std::size_t>(n_kv_heads_) + static_cast<std::size_t>(kv_head);
    return keys_.data() + head * head_size() +
           static_cast<std::size_t>(index) * block * static_cast<std::size_t>(d_head_);
}

const float* KvCache::values(int layer, int kv_head) const {
    const auto head =
        static_cast<std::size_t>(layer) * static_cast<std::size_t>(n_kv_heads_) + static_cast<std::size_t>(kv_head);
    return values_.data() + head * head_size();
}

void KvCache::store(int layer, int first, View k, View v) {
    const std::size_t layer_start =
        static_cast<std::size_t>(layer) * static_cast<std::size_t>(n_kv_heads_) * head_size();
    parallel_for(k.rows, std::max(1, 8192 / k.cols), [&](std::ptrdiff_t i) {
        const int slot = first + static_cast<int>(i);
        const float* key = k.row(static_cast<int>(i));
        const float* value = v.row(static_cast<int>(i));
        for (int head = 0; head < n_kv_heads_; ++head, key += d_head_, value += d_head_) {
            const std::size_t start = layer_start + static_cast<std::size_t>(head) * head_size();
            float* column = keys_.data() + start +
                            static_cast<std::size_t>(slot / block) * block * static_cast<std::size_t>(d_head_) +
                            slot % block;
            for (int j = 0; j < d_head_; ++j) column[j * block] = key[j];
            std::copy(value, value + d_head_,
                      values_.data() + start + static_cast<std::size_t>(slot) * static_cast<std::size_t>(d_head_));
        }
    });
}

} // namespace ordo
