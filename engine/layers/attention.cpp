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

constexpr int keys_of_span = 8 * KvCache::block;

int columns_for(const AttentionShape& shape, int capacity) {
    constexpr int block = KvCache::block;
    // A tile of queries spans window + tile - 1 keys, which may begin and end inside a block.
    if (shape.window != 0 && shape.window < capacity)
        capacity = std::min(capacity, shape.window + AttentionScratch::tile + 2 * block);
    return (capacity + block - 1) / block * block;
}

// A single span is computed as a whole, without a second step.
int spans_for(int columns) {
    const int spans = (columns + keys_of_span - 1) / keys_of_span;
    return spans == 1 ? 0 : spans;
}

// How many spans the keys are cut into that one query sees, from the start of the first one's block.
int spans_of(Range seen) {
    const int start = seen.first / KvCache::block * KvCache::block;
    return (seen.last - start + keys_of_span - 1) / keys_of_span;
}

// One tile of the queries of one head.
struct TileJob {
    const AttentionShape& shape;
    const EncodingStack& encodings;
    const KvCache& cache;
    View q, out; // of all heads
    int layer, first, total;
    bool biased;

    Range seen(int row) const { return visible(shape, first + row, total); }
    int kv_head(int head) const { return head / (shape.n_heads / shape.n_kv_heads); }
    View gathered(int head, int row, int rows) const {
        return cols_of(rows_of(out, row, rows), head * shape.d_head, shape.d_head);
    }

    // The scores of some rows for the keys of a range that begins with a block: scaled, capped and biased.
    View score(int head, int row, int rows, Range keys, AttentionScratch& scratch, int slot) const {
        constexpr int block = KvCache::block;
        const View scores = scratch.scores(slot, rows, keys.last - keys.first);
        const View mine = cols_of(rows_of(q, row, rows), head * shape.d_head, shape.d_head);
        for (int token = keys.first; token < keys.last; token += block) {
            // Whole vectors: the columns past the last token are never read.
            const int width = std::min(block, (keys.last - token + 15) / 16 * 16);
            cache.multiply_keys(layer, kv_head(head), token / block, shape.scale, mine,
                                cols_of(scores, token - keys.first, width));
        }
        if (shape.softcap != 0) soft_cap(shape.softcap, scores);
        const Positions positions = cache.positions();
        if (biased)
            encodings.bias(scores, layer, head,
                           positions.subspan(static_cast<std::size_t>(first + row), static_cast<std::size_t>(rows)),
                           positions.subspan(static_cast<std::size_t>(keys.first),
                                             static_cast<std::size_t>(keys.last - keys.first)));
        return scores;
    }

    void run(int head, int row, int rows, AttentionScratch& scratch, int slot) const {
        const int start = seen(row).first / KvCache::block * KvCache::block, last = seen(row + rows - 1).last;
        const View scores = score(head, row, rows, {start, last}, scratch, slot);
        for (int i = 0; i < rows; ++i) {
            const Range own = seen(row + i);
            softmax_row(last - start, own.first - start, own.last - start, scores.row(i));
        }
        cache.multiply_values(layer, kv_head(head), start, scores, gathered(head, row, rows));
    }

    // The first row's keys of one span: the average of their values, and what they weigh.
    void average(int head, int span, int sequence, AttentionScratch& scratch, int slot) const {
        const Range all = seen(0);
        const int start = all.first / KvCache::block * KvCache::block + span * keys_of_span;
        const int last = std::min(all.last, start + keys_of_span);
        const View scores = score(head, 0, 1, {start, last}, scratch, slot);
        scratch.weights(sequence, head)[span] =
            softmax_part(last - start, std::max(all.first, start) - start, last - start, scores.row(0));
        cache.multiply_values(layer, kv_head(head), start, scores, rows_of(scratch.averages(sequence, head), span, 1));
    }
    void combine(int head, int sequence, AttentionScratch& scratch) const {
        const Kernels& k = kernels();
        const int spans = spans_of(seen(0));
        const View averages = scratch.averages(sequence, head);
        float* const weights = scratch.weights(sequence, head);
        softmax_row(spans, 0, spans, weights);
        float* const to = gathered(head, 0, 1).row(0);
        std::fill(to, to + shape.d_head, 0.0f);
        for (int i = 0; i < spans; ++i) k.axpy(shape.d_head, weights[i], averages.row(i), to);
    }
};

} // namespace

AttentionScratch::AttentionScratch(const AttentionShape& shape, int capacity, int sequences)
    : slots_(thread_count()), columns_(columns_for(shape, capacity)), spans_(spans_for(columns_)),
      n_heads_(shape.n_heads), d_head_(shape.d_head) {
    scores_ = Buffer<float>(static_cast<std::size_t>(slots_) * tile * static_cast<std::size_t>(columns_));
    spans_of_heads_ = Buffer<float>(static_cast<std::size_t>(span_floats()) * static_cast<std::size_t>(n_heads_) *
                                    static_cast<std::size_t>(sequences));
}

std::uint64_t AttentionScratch::floats(const AttentionShape& shape, int capacity, int sequences) {
    const int columns = columns_for(shape, capacity);
    const auto of_head = static_cast<std::uint64_t>(spans_for(columns)) * static_cast<std::uint64_t>(shape.d_head + 1);
    return static_cast<std::uint64_t>(thread_count()) * tile * static_cast<std::uint64_t>(columns) +
           static_cast<std::uint64_t>(sequences) * static_cast<std::uint64_t>(shape.n_heads) * of_head;
}

View AttentionScratch::averages(int i, int head) {
    return view(spans_of_heads_.data() + (std::ptrdiff_t{i} * n_heads_ + head) * span_floats(), spans_, d_head_);
}
float* AttentionScratch::weights(int i, int head) {
    return averages(i, head).data + std::ptrdiff_t{spans_} * d_head_;
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
          sequence_(top), qkv_(rows_of(qkv, top, part.rows)), out_(rows_of(out, top, part.rows)) {}

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
        tile().run(head, row, rows, scratch, slot);
    }

    // Of a single row: how many spans its keys are in.
    int spans() const { return spans_of(tile().seen(0)); }
    void gather_span(int head, int span, AttentionScratch& scratch, int slot) const {
        if (span < spans()) tile().average(head, span, sequence_, scratch, slot);
    }
    void combine(int head, AttentionScratch& scratch) const { tile().combine(head, sequence_, scratch); }

    // One row's query heads that share a key/value head, from start to end.
    void decode(int kv_head, AttentionScratch& scratch, int slot) const {
        enter(0, 1, kv_head, 1);
        const int n = spans();
        for (int head = kv_head * group_; head < (kv_head + 1) * group_; ++head) {
            if (n == 1) {
                gather(0, 1, head, scratch, slot);
                continue;
            }
            for (int span = 0; span < n; ++span) gather_span(head, span, scratch, slot);
            combine(head, scratch);
        }
    }

private:
    TileJob tile() const {
        const bool biased = (encodings_.moments() & moment_bias) != 0;
        const View q = cols_of(qkv_, 0, shape_.n_heads * shape_.d_head);
        return {shape_, encodings_, *part_.cache, q, out_, layer_, part_.first, part_.first + part_.rows, biased};
    }

    const AttentionShape& shape_;
    const EncodingStack& encodings_;
    int layer_;
    const Part& part_;
    int group_;    // query heads that share a key/value head
    int sequence_; // its number, where each has a single row
    View qkv_, out_;
};

// Rows that are alone in their sequences.
void decode(const AttentionShape& shape, const EncodingStack& encodings, int layer, std::span<const Part> parts,
            View qkv, AttentionScratch& scratch, View out) {
    const auto job = [&](std::ptrdiff_t row) {
        return PartJob(shape, encodings, layer, parts[static_cast<std::size_t>(row)], static_cast<int>(row), qkv, out);
    };
    const std::ptrdiff_t n = qkv.rows, kv_heads = shape.n_kv_heads, heads = shape.n_heads;
    int most_spans = 0;
    for (std::ptrdiff_t row = 0; row < n; ++row) most_spans = std::max(most_spans, job(row).spans());
    if (most_spans == 1 || n * kv_heads >= scratch.slots()) {
        parallel_for_slots(n * kv_heads, scratch.slots(), [&](std::ptrdiff_t i, int slot) {
            job(i / kv_heads).decode(static_cast<int>(i % kv_heads), scratch, slot);
        });
        return;
    }
    parallel_for_slots(n * kv_heads, scratch.slots(), [&](std::ptrdiff_t i, int) {
        job(i / kv_heads).enter(0, 1, static_cast<int>(i % kv_heads), 1);
    });
    parallel_for_slots(n * heads * most_spans, scratch.slots(), [&](std::ptrdiff_t i, int slot) {
        const std::ptrdiff_t head = i / most_spans;
        job(head / heads).gather_span(static_cast<int>(head % heads), static_cast<int>(i % most_spans), scratch, slot);
    });
    parallel_for_slots(n * heads, scratch.slots(),
                       [&](std::ptrdiff_t i, int) { job(i / heads).combine(static_cast<int>(i % heads), scratch); });
}

} // namespace

void attention(const AttentionShape& shape, const EncodingStack& encodings, int layer, std::span<const Part> parts,
               View qkv, AttentionScratch& scratch, View out) {
    const int n = qkv.rows;
    if (parts.front().rows == 1) return decode(shape, encodings, layer, parts, qkv, scratch, out);
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
