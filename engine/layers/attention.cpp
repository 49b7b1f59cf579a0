// SPDX-License-Identifier: MIT
#include "layers/attention.h"

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "ops/softmax.h"

#include <algorithm>

namespace ordo {
namespace {

struct Range {
    int first, last; // [first, last)
};

// The tokens that the query with a token index sees; total: tokens in the cache.
Range visible(const AttentionShape& shape, int index, int total) {
    if (shape.mask == Mask::bidirectional) return {0, total};
    return {shape.window == 0 ? 0 : std::max(0, index + 1 - shape.window), index + 1};
}

int columns_for(const AttentionShape& shape, int capacity) {
    constexpr int block = KvCache::block;
    // A tile of queries spans window + tile - 1 keys, which may begin and end inside a block.
    if (shape.window != 0 && shape.window < capacity)
        capacity = std::min(capacity, shape.window + AttentionScratch::tile + 2 * block);
    return (capacity + block - 1) / block * block;
}

// One tile of the queries of one head.
struct TileJob {
    const AttentionShape& shape;
    const EncodingStack& encodings;
    const KvCache& cache;
    View q, out; // of all heads
    int layer, first, total;
    bool biased;

    void run(int head, int row, int rows, AttentionScratch& scratch, int slot) const {
        const Kernels& k = kernels();
        constexpr int block = KvCache::block;
        const int e = shape.d_head, kv_head = head / (shape.n_heads / shape.n_kv_heads);
        const int last = visible(shape, first + row + rows - 1, total).last;
        const int start = visible(shape, first + row, total).first / block * block; // whole blocks
        const View scores = scratch.scores(slot, rows, last - start);
        for (int token = start; token < last; token += block) {
            // Whole vectors: the columns past the last token are never read.
            const int width = std::min(block, (last - token + 15) / 16 * 16);
            k.product(rows, width, e, shape.scale, q.row(row) + head * e, q.stride, 1,
                      cache.keys(layer, kv_head, token / block), block, 0, scores.data + (token - start),
                      scores.stride);
        }
        if (shape.softcap != 0) soft_cap(shape.softcap, scores);
        const Positions positions = cache.positions();
        if (biased)
            encodings.bias(scores, layer, head,
                           positions.subspan(static_cast<std::size_t>(first + row), static_cast<std::size_t>(rows)),
                           positions.subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(last - start)));
        for (int i = 0; i < rows; ++i) {
            const Range seen = visible(shape, first + row + i, total);
            softmax_row(last - start, seen.first - start, seen.last - start, scores.row(i));
        }
        k.product(rows, e, last - start, 1, scores.data, scores.stride, 1,
                  cache.values(layer, kv_head) + static_cast<std::ptrdiff_t>(start) * e, e, 0, out.row(row) + head * e,
                  out.stride);
    }
};

} // namespace

AttentionScratch::AttentionScratch(const AttentionShape& shape, int capacity)
    : scores_(floats(shape, capacity)), slots_(thread_count()), columns_(columns_for(shape, capacity)) {}

std::uint64_t AttentionScratch::floats(const AttentionShape& shape, int capacity) {
    return static_cast<std::uint64_t>(thread_count()) * tile * static_cast<std::uint64_t>(columns_for(shape, capacity));
}

View AttentionScratch::scores(int slot, int rows, int keys) {
    return {scores_.data() + static_cast<std::ptrdiff_t>(slot) * tile * columns_, rows, keys, columns_};
}

void attention(const AttentionShape& shape, const EncodingStack& encodings, int layer, int first, View qkv,
               KvCache& cache, AttentionScratch& scratch, View out) {
    const int n = qkv.rows, q_width = shape.n_heads * shape.d_head, kv_width = shape.n_kv_heads * shape.d_head;
    const View q = cols_of(qkv, 0, q_width), k = cols_of(qkv, q_width, kv_width);
    const unsigned moments = encodings.moments();
    if (moments & moment_rotate) {
        const Positions rows =
            std::as_const(cache).positions().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
        encodings.rotate(q, shape.n_heads, rows, Role::query, layer);
        encodings.rotate(k, shape.n_kv_heads, rows, Role::key, layer);
    }
    cache.store(layer, first, k, cols_of(qkv, q_width + kv_width, kv_width));

    const TileJob job{shape, encodings, cache, q, out, layer, first, first + n, (moments & moment_bias) != 0};
    constexpr int tile = AttentionScratch::tile;
    const int tiles = (n + tile - 1) / tile;
    // Later tiles see more keys: they go first, so that no thread is left alone with the longest.
    const auto task = [&](std::ptrdiff_t i, int slot) {
        const int row = (tiles - 1 - static_cast<int>(i) / shape.n_heads) * tile;
        job.run(static_cast<int>(i) % shape.n_heads, row, std::min(tile, n - row), scratch, slot);
    };
    // Decoding on a short cache is over before a second thread has woken up.
    const std::int64_t work = std::int64_t{n} * (first + n) * q_width;
    constexpr std::int64_t work_per_thread = 32768;
    parallel_for_slots(static_cast<std::ptrdiff_t>(tiles) * shape.n_heads,
                       work < 2 * work_per_thread ? 1 : scratch.slots(), task);
}

} // namespace ordo
