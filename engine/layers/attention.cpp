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
        constexpr int block = KvCache::block;
        const int e = shape.d_head, kv_head = head / (shape.n_heads / shape.n_kv_heads);
        const int last = visible(shape, first + row + rows - 1, total).last;
        const int start = visible(shape, first + row, total).first / block * block; // whole blocks
        const View scores = scratch.scores(slot, rows, last - start);
        const View mine = cols_of(rows_of(q, row, rows), head * e, e);
        for (int token = start; token < last; token += block) {
            // Whole vectors: the columns past the last token are never read.
            const int width = std::min(block, (last - token + 15) / 16 * 16);
            cache.multiply_keys(layer, kv_head, token / block, shape.scale, mine,
                                cols_of(scores, token - start, width));
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
        cache.multiply_values(layer, kv_head, start, scores, cols_of(rows_of(out, row, rows), head * e, e));
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

namespace {

// The rows of one part, which begin at row `top` of qkv and out.
class PartJob {
public:
    PartJob(const AttentionShape& shape, const EncodingStack& encodings, int layer, const Part& part, int top, View qkv,
            View out)
        : shape_(shape), encodings_(encodings), layer_(layer), part_(part), group_(shape.n_heads / shape.n_kv_heads),
          qkv_(rows_of(qkv, top, part.rows)), out_(rows_of(out, top, part.rows)) {}

    // Some rows' queries and keys of some key/value heads get their positions; keys and values are cached.
    void enter(int row, int rows, int kv_head, int heads) const {
        const int e = shape_.d_head, q_width = shape_.n_heads * e, kv_width = shape_.n_kv_heads * e;
        const View all = rows_of(qkv_, row, rows);
        const View q = cols_of(all, kv_head * group_ * e, heads * group_ * e);
        const View k = cols_of(all, q_width + kv_head * e, heads * e);
        const View v = cols_of(all, q_width + kv_width + kv_head * e, heads * e);
        if (encodings_.moments() & moment_rotate) {
            const Positions at =
                std::as_const(*part_.cache)
                    .positions()
                    .subspan(static_cast<std::size_t>(part_.first + row), static_cast<std::size_t>(rows));
            encodings_.rotate(q, heads * group_, at, Role::query, layer_);
            encodings_.rotate(k, heads, at, Role::key, layer_);
        }
        part_.cache->store(layer_, kv_head, part_.first + row, k, v);
    }

    // A tile of queries of one head.
    void gather(int row, int rows, int head, AttentionScratch& scratch, int slot) const {
        const bool biased = (encodings_.moments() & moment_bias) != 0;
        const View q = cols_of(qkv_, 0, shape_.n_heads * shape_.d_head);
        TileJob{shape_, encodings_, *part_.cache, q, out_, layer_, part_.first, part_.first + part_.rows, biased}.run(
            head, row, rows, scratch, slot);
    }

    // One row's query heads that share a key/value head, from start to end.
    void decode(int kv_head, AttentionScratch& scratch, int slot) const {
        enter(0, 1, kv_head, 1);
        for (int head = kv_head * group_; head < (kv_head + 1) * group_; ++head) gather(0, 1, head, scratch, slot);
    }

private:
    const AttentionShape& shape_;
    const EncodingStack& encodings_;
    int layer_;
    const Part& part_;
    int group_; // query heads that share a key/value head
    View qkv_, out_;
};

} // namespace

void attention(const AttentionShape& shape, const EncodingStack& encodings, int layer, std::span<const Part> parts,
               View qkv, AttentionScratch& scratch, View out) {
    const int n = qkv.rows;
    if (parts.front().rows == 1) {
        parallel_for_slots(static_cast<std::ptrdiff_t>(n) * shape.n_kv_heads, scratch.slots(),
                           [&](std::ptrdiff_t i, int slot) {
                               const int row = static_cast<int>(i) / shape.n_kv_heads;
                               PartJob(shape, encodings, layer, parts[static_cast<std::size_t>(row)], row, qkv, out)
                                   .decode(static_cast<int>(i) % shape.n_kv_heads, scratch, slot);
                           });
        return;
    }
    const PartJob job(shape, encodings, layer, parts.front(), 0, qkv, out);
    constexpr int rows_at_once = 16;
    parallel_for((n + rows_at_once - 1) / rows_at_once, std::max(1, 8192 / (rows_at_once * qkv.cols)),
                 [&](std::ptrdiff_t i) {
                     const int row = static_cast<int>(i) * rows_at_once;
                     job.enter(row, std::min(rows_at_once, n - row), 0, shape.n_kv_heads);
                 });
    constexpr int tile = AttentionScratch::tile;
    const int tiles = (n + tile - 1) / tile;
    // Later tiles see more keys: they go first, so that no thread is left alone with the longest.
    parallel_for_slots(static_cast<std::ptrdiff_t>(tiles) * shape.n_heads, scratch.slots(),
                       [&](std::ptrdiff_t i, int slot) {
                           const int row = (tiles - 1 - static_cast<int>(i) / shape.n_heads) * tile;
                           job.gather(row, std::min(tile, n - row), static_cast<int>(i) % shape.n_heads, scratch, slot);
                       });
}

} // namespace ordo
