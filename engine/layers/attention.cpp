// SPDX-License-Identifier: MIT
#include "layers/attention_tile.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {
namespace {

constexpr int keys_of_span = 16 * KvCache::slab;

int columns_for(const AttentionShape& shape, int capacity) {
    constexpr int slab = KvCache::slab;
    // A tile of queries spans window + tile - 1 keys, which may begin and end inside a slab.
    if (shape.window != 0 && shape.window < capacity)
        capacity = std::min(capacity, shape.window + AttentionScratch::tile + 2 * slab);
    return (capacity + slab - 1) / slab * slab;
}
int columns_for(std::span<const AttentionShape> shapes, int capacity) {
    int most = 0;
    for (const AttentionShape& shape : shapes) most = std::max(most, columns_for(shape, capacity));
    return most;
}

// The most spans that the queries of a tile see keys of.
int spans_for(int columns, int capacity) {
    return std::min((capacity + keys_of_span - 1) / keys_of_span, columns / keys_of_span + 2);
}

// Spans begin at multiples of their length, whoever looks.
int first_span(KeyRange keys) {
    return keys.first / keys_of_span;
}
int spans_of(KeyRange keys) {
    return (keys.last - 1) / keys_of_span - first_span(keys) + 1;
}

// Rows of averages for each thread: those of its tile, or, where threads share a query's spans, heads.
int rows_of_slot(std::span<const AttentionShape> shapes) {
    int most = AttentionScratch::tile;
    for (const AttentionShape& shape : shapes) most = std::max(most, shape.n_heads / shape.n_kv_heads);
    return most;
}

} // namespace

AttentionShape attention_shape(const LayerProgram& program) {
    const LayerPlan& plan = program.plan;
    const LayerSizes& s = program.sizes;
    return {s.n_heads, s.n_kv_heads, s.d_head, program.score_scale(), plan.mask, plan.window, plan.attention_softcap};
}

AttentionShape cross_attention_shape(const LayerProgram& program) {
    const LayerSizes& s = program.sizes;
    AttentionShape shape{s.n_heads, s.n_kv_heads, s.d_head, program.score_scale(), Mask::bidirectional};
    shape.cross = true;
    return shape;
}

// ---- Scratch --------------------------------------------------------------------------------

AttentionScratch::AttentionScratch(std::span<const AttentionShape> shapes, unsigned reads, int capacity)
    : slots_(thread_count()), columns_(columns_for(shapes, capacity)), spans_(spans_for(columns_, capacity)),
      d_head_(shapes.front().d_head) {
    const auto slots = static_cast<std::size_t>(slots_), columns = slots * static_cast<std::size_t>(columns_);
    scores_ = Buffer<float>(columns * tile);
    if (reads & reads_keys) keys_ = Buffer<float>(columns * static_cast<std::size_t>(d_head_));
    averages_ =
        Buffer<float>(slots * static_cast<std::size_t>(rows_of_slot(shapes)) * static_cast<std::size_t>(row_floats()));
}

std::uint64_t AttentionScratch::floats(std::span<const AttentionShape> shapes, unsigned reads, int capacity) {
    const int columns = columns_for(shapes, capacity);
    const auto e = static_cast<std::uint64_t>(shapes.front().d_head);
    const std::uint64_t of_row = static_cast<std::uint64_t>(spans_for(columns, capacity)) * (e + 1);
    const std::uint64_t of_column = tile + ((reads & reads_keys) != 0 ? e : 0);
    return static_cast<std::uint64_t>(thread_count()) * (static_cast<std::uint64_t>(columns) * of_column +
                                                         static_cast<std::uint64_t>(rows_of_slot(shapes)) * of_row);
}

View AttentionScratch::averages(int first, int rows, int span) {
    return {averages_.data() + first * row_floats() + std::ptrdiff_t{span} * d_head_, rows, d_head_, row_floats()};
}
float* AttentionScratch::weights(int row) {
    return averages(row, 1, spans_).data;
}
View AttentionScratch::scores(int slot, int rows, int keys) {
    return {scores_.data() + static_cast<std::ptrdiff_t>(slot) * tile * columns_, rows, keys, columns_};
}
// Closer to each other, and not a power of two apart: such rows would share a few sets of a cache.
View AttentionScratch::span_scores(int slot, int rows, int keys) {
    View v = scores(slot, rows, keys);
    v.stride = std::min(columns_, keys_of_span + 16);
    return v;
}
View AttentionScratch::keys(int slot, int keys) {
    if (keys_.size() == 0) return {};
    return view(keys_.data() + static_cast<std::ptrdiff_t>(slot) * columns_ * d_head_, keys, d_head_);
}

// ---- One tile -------------------------------------------------------------------------------

KeyRange TileJob::seen(int row) const {
    const int index = part.first + row;
    if (shape().cross) return {0, part.memory_tokens};
    if (shape().mask == Mask::bidirectional) return {0, part.visible != 0 ? part.visible : part.first + part.rows};
    if (shape().window == 0) return {0, index + 1};
    return {std::max(part.cache->floor(layer.index), index + 1 - shape().window), index + 1};
}

Tile TileJob::tile(int head, int row, int rows, KeyRange keys, View k) const {
    Tile t{.layer = layer.index,
           .head = head,
           .scale = shape().scale,
           .first_query = part.first + row,
           .first_key = keys.first};
    t.queries = part.cache->positions(part.first + row, rows);
    t.keys = part.cache->positions(keys.first, keys.last - keys.first);
    t.q = queries(head, row, rows);
    t.k = k;
    if (layer.encodings.reads() & reads_state) {
        t.query_state = part.cache->state(layer.index, part.first + row, rows);
        t.key_state = part.cache->state(layer.index, keys.first, keys.last - keys.first);
    }
    return t;
}

View TileJob::gather_keys(int head, KeyRange keys, AttentionScratch& scratch, int slot) const {
    if (!(layer.encodings.reads() & reads_keys)) return {};
    const View k = scratch.keys(slot, keys.last - keys.first);
    cache().keys(layer.index, kv_head(head), keys.first, k);
    return k;
}

void TileJob::products(int head, int row, int rows, KeyRange keys, View scores) const {
    constexpr int slab = KvCache::slab;
    const View mine = queries(head, row, rows);
    for (int token = keys.first; token < keys.last; token += slab) {
        // Whole vectors: the columns past the last token are never read.
        const int width = std::min(slab, (keys.last - token + 15) / 16 * 16);
        cache().multiply_keys(layer.index, kv_head(head), token / slab, shape().scale, mine,
                              cols_of(scores, token - keys.first, width));
    }
    if (shape().softcap != 0) soft_cap(shape().softcap, scores);
}

Tile TileJob::row_of(const Tile& t, int row, int i) const {
    const KeyRange own = seen(row + i);
    const int first = own.first - t.first_key, count = own.last - own.first;
    Tile one = t;
    one.first_query = t.first_query + i;
    one.first_key = own.first;
    one.queries = t.queries.subspan(static_cast<std::size_t>(i), 1);
    one.keys = t.keys.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    one.q = rows_of(t.q, i, 1);
    if (t.k.data) one.k = rows_of(t.k, first, count);
    if (t.query_state.data) one.query_state = rows_of(t.query_state, i, 1);
    if (t.key_state.data) one.key_state = rows_of(t.key_state, first, count);
    return one;
}

void TileJob::rescore(View scores, int row, const Tile& t) const {
    for (int i = 0; i < scores.rows; ++i) {
        const Tile one = row_of(t, row, i);
        layer.encodings.rescore(
            cols_of(rows_of(scores, i, 1), one.first_key - t.first_key, static_cast<int>(one.keys.size())), one);
    }
}

void TileJob::share(int head, int n, int first, int last, float* row) const {
    const float sink = moments() & moment_sink ? layer.encodings.sink(head) : -HUGE_VALF;
    if (sink == -HUGE_VALF)
        softmax_row(n, first, last, row);
    else
        kernels().scale(last - first, share_beside_sink(softmax_part(n, first, last, row), sink), row + first);
}

void TileJob::normalise(int head, int row, KeyRange keys, View scores) const {
    const int n = keys.last - keys.first;
    for (int i = 0; i < scores.rows; ++i) {
        const KeyRange own = seen(row + i);
        const int first = own.first - keys.first, last = own.last - keys.first;
        share(head, n, first, last, scores.row(i));
        if (layer.watch)
            (*layer.watch)(layer.index, head, part.first + row + i, own.first,
                           {scores.row(i) + first, static_cast<std::size_t>(last - first)});
    }
}

KeyRange TileJob::slabs_of(int row, int rows) const {
    return {seen(row).first / KvCache::slab * KvCache::slab, seen(row + rows - 1).last};
}

void TileJob::run(int head, int row, int rows, AttentionScratch& scratch, int slot) const {
    const KeyRange keys = slabs_of(row, rows);
    const int spans = spans_of(keys);
    // Beside a sink even a single span is weighed afterwards, as it is beside other spans.
    if ((spans > 1 || moments() & moment_sink) && !whole_rows()) {
        const int first = slot * AttentionScratch::tile;
        for (int i = 0; i < spans; ++i) average(head, row, rows, i, first, scratch, slot);
        for (int i = 0; i < rows; ++i) combine(head, row, i, first + i, scratch, slot);
        return;
    }
    const View scores = scratch.scores(slot, rows, keys.last - keys.first);
    products(head, row, rows, keys, scores);
    const bool shown = (moments() & (moment_bias | moment_rescore | moment_mix)) != 0;
    const Tile t = shown ? tile(head, row, rows, keys, gather_keys(head, keys, scratch, slot)) : Tile{};
    if (moments() & moment_bias) layer.encodings.bias(scores, t);
    if (moments() & moment_rescore) rescore(scores, row, t);
    normalise(head, row, keys, scores);
    cache().multiply_values(layer.index, kv_head(head), keys.first, scores, gathered(head, row, rows));
    if (moments() & moment_mix) layer.encodings.mix(gathered(head, row, rows), scores, t);
}

void TileJob::average(int head, int row, int rows, int span, int first, AttentionScratch& scratch, int slot) const {
    const KeyRange all = slabs_of(row, rows);
    const int start = (first_span(all) + span) * keys_of_span;
    const KeyRange keys{std::max(all.first, start), std::min(all.last, start + keys_of_span)};
    const int n = keys.last - keys.first;
    const View scores = layer.watch // who is shown whole rows, so that they have to stay
                            ? cols_of(scratch.scores(slot, rows, all.last - all.first), keys.first - all.first, n)
                            : scratch.span_scores(slot, rows, n);
    const View averages = scratch.averages(first, rows, span);
    products(head, row, rows, keys, scores);
    const bool shown = (moments() & (moment_bias | moment_mix)) != 0;
    const Tile t = shown ? tile(head, row, rows, keys, gather_keys(head, keys, scratch, slot)) : Tile{};
    if (moments() & moment_bias) layer.encodings.bias(scores, t);
    for (int i = 0; i < rows; ++i) {
        const KeyRange own = seen(row + i);
        const int from = std::max(own.first, keys.first) - keys.first, to = std::min(own.last, keys.last) - keys.first;
        if (from < to)
            scratch.weights(first + i)[span] = softmax_part(n, from, to, scores.row(i));
        else // combine() leaves the average out
            std::fill_n(scores.row(i), n, 0.0f);
    }
    cache().multiply_values(layer.index, kv_head(head), keys.first, scores, averages);
    if (moments() & moment_mix) layer.encodings.mix(averages, scores, t);
}

void TileJob::combine(int head, int row, int i, int of, AttentionScratch& scratch, int slot) const {
    const Kernels& k = kernels();
    const KeyRange own = seen(row + i);
    const int before = first_span(own) - first_span(seen(row)), spans = spans_of(own);
    float* const weights = scratch.weights(of) + before;
    share(head, spans, 0, spans, weights);
    float* const to = gathered(head, row + i, 1).row(0);
    std::fill_n(to, shape().d_head, 0.0f);
    for (int span = 0; span < spans; ++span)
        k.axpy(shape().d_head, weights[span], scratch.averages(of, 1, before + span).row(0), to);
    if (!layer.watch) return;
    const int first = slabs_of(row, 1).first;
    float* const shares = scratch.scores(slot, i + 1, own.last - first).row(i); // of the keys from first on
    for (int key = own.first, last; key < own.last; key = last) {
        last = std::min(own.last, (key / keys_of_span + 1) * keys_of_span);
        k.scale(last - key, weights[key / keys_of_span - first_span(own)], shares + key - first);
    }
    (*layer.watch)(layer.index, head, part.first + row + i, own.first,
                   {shares + own.first - first, static_cast<std::size_t>(own.last - own.first)});
}

// ---- A part ---------------------------------------------------------------------------------

namespace {

// The rows of one part, which begin at row `top` of qkv and out.
class PartJob {
public:
    PartJob(const AttentionLayer& layer, const Part& part, int number, int top, View qkv, View out)
        : tile_{layer, part, cols_of(rows_of(qkv, top, part.rows), 0, layer.shape.n_heads * layer.shape.d_head),
                rows_of(out, top, part.rows)},
          qkv_(rows_of(qkv, top, part.rows)), group_(layer.shape.n_heads / layer.shape.n_kv_heads), number_(number) {}

    // Some rows' queries and keys of some key/value heads get their positions; keys and values are cached.
    void enter(int row, int rows, int kv_head, int heads) const {
        const AttentionShape& shape = tile_.shape();
        if (shape.cross) return; // they are there
        const LayerEncodings& encodings = tile_.layer.encodings;
        const int e = shape.d_head, q_width = shape.n_heads * e, kv_width = shape.n_kv_heads * e;
        const View all = rows_of(qkv_, row, rows);
        const View q = cols_of(all, kv_head * group_ * e, heads * group_ * e);
        const View k = cols_of(all, q_width + kv_head * e, heads * e);
        const View v = cols_of(all, q_width + kv_width + kv_head * e, heads * e);
        const Part& part = tile_.part;
        const int layer = tile_.layer.index;
        if (encodings.moments() & moment_rotate) {
            const Positions at = part.cache->positions(part.first + row, rows);
            encodings.rotate(q, {layer, kv_head * group_, heads * group_, Role::query, at});
            encodings.rotate(k, {layer, kv_head, heads, Role::key, at});
        }
        part.cache->store(layer, kv_head, part.first + row, k, v);
    }

    // A tile of queries of one head.
    void gather(int row, int rows, int head, AttentionScratch& scratch, int slot) const {
        tile_.run(head, row, rows, scratch, slot);
    }

    // Of a single row: how many spans of its keys threads may share.
    int spans() const { return tile_.whole_rows() || tile_.layer.watch ? 1 : spans_of(tile_.seen(0)); }
    void gather_span(int head, int span, AttentionScratch& scratch, int slot) const {
        if (span < spans()) tile_.average(head, 0, 1, span, row_of(head), scratch, slot);
    }
    void combine(int head, AttentionScratch& scratch, int slot) const {
        tile_.combine(head, 0, 0, row_of(head), scratch, slot);
    }

    // One row's query heads that share a key/value head, from start to end.
    void decode(int kv_head, AttentionScratch& scratch, int slot) const {
        enter(0, 1, kv_head, 1);
        for (int head = kv_head * group_; head < (kv_head + 1) * group_; ++head) gather(0, 1, head, scratch, slot);
    }

private:
    int row_of(int head) const { return number_ * tile_.shape().n_heads + head; }

    TileJob tile_;
    View qkv_;
    int group_;  // query heads that share a key/value head
    int number_; // of the part
};

// Rows that are alone in their sequences.
void decode(const AttentionLayer& layer, std::span<const Part> parts, View qkv, AttentionScratch& scratch, View out) {
    const auto job = [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row);
        return PartJob(layer, parts[static_cast<std::size_t>(row)], i, i, qkv, out);
    };
    const std::ptrdiff_t n = qkv.rows, kv_heads = layer.shape.n_kv_heads, heads = layer.shape.n_heads;
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
    parallel_for_slots(n * heads, scratch.slots(), [&](std::ptrdiff_t i, int slot) {
        job(i / heads).combine(static_cast<int>(i % heads), scratch, slot);
    });
}

// Running sums need the tokens in their order: one thread for each sequence.
void observe(const AttentionLayer& layer, std::span<const Part> parts, View normed) {
    parallel_for(static_cast<std::ptrdiff_t>(parts.size()), 1, [&](std::ptrdiff_t i) {
        const Part& part = parts[static_cast<std::size_t>(i)];
        const View before = part.first == 0 ? View{} : part.cache->state(layer.index, part.first - 1, 1);
        layer.encodings.observe(rows_of(normed, static_cast<int>(i) * part.rows, part.rows),
                                part.cache->positions(part.first, part.rows), before.data,
                                part.cache->state(layer.index, part.first, part.rows));
    });
}

} // namespace

void attention(const AttentionLayer& layer, std::span<const Part> parts, View qkv, View normed,
               AttentionScratch& scratch, View out) {
    if (layer.encodings.moments() & moment_observe) observe(layer, parts, normed);
    const int n = parts.front().rows; // of each part
    if (n == 1) return decode(layer, parts, qkv, scratch, out);
    const auto job = [&](std::ptrdiff_t part) {
        const int i = static_cast<int>(part);
        return PartJob(layer, parts[static_cast<std::size_t>(part)], i, i * n, qkv, out);
    };
    const auto count = static_cast<std::ptrdiff_t>(parts.size());
    constexpr int rows_at_once = 16;
    const int strips = (n + rows_at_once - 1) / rows_at_once;
    parallel_for(count * strips, std::max(1, 8192 / (rows_at_once * qkv.cols)), [&](std::ptrdiff_t i) {
        const int row = static_cast<int>(i % strips) * rows_at_once;
        job(i / strips).enter(row, std::min(rows_at_once, n - row), 0, layer.shape.n_kv_heads);
    });
    constexpr int tile = AttentionScratch::tile;
    const int tiles = (n + tile - 1) / tile, heads = layer.shape.n_heads;
    // Later tiles see more keys: they go first, so that no thread is left alone with the longest.
    parallel_for_slots(count * tiles * heads, scratch.slots(), [&](std::ptrdiff_t i, int slot) {
        const std::ptrdiff_t of_part = i % (count * heads);
        const int row = (tiles - 1 - static_cast<int>(i / (count * heads))) * tile;
        job(of_part / heads).gather(row, std::min(tile, n - row), static_cast<int>(of_part % heads), scratch, slot);
    });
}

} // namespace ordo
