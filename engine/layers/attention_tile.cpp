// SPDX-License-Identifier: MIT
#include "layers/attention_tile.h"

#include "kernels/kernels.h"

#include <algorithm>

namespace ordo {

View TileJob::part_of(View all, const Queries& some) const {
    const int e = shape().d_head;
    const View one = cols_of(rows_of(all, some.row, some.rows), some.head * e, e);
    return some.heads == 1 ? one : View{one.data, some.heads, e, e};
}

KeyRange TileJob::seen(int row) const {
    const int index = part.first + row;
    if (shape().cross) return {0, part.memory_tokens};
    if (shape().mask == Mask::bidirectional) {
        const int all = part.visible != 0 ? part.visible : part.first + part.rows, side = shape().window / 2;
        if (shape().window == 0 || side >= all) return {0, all};
        return {std::max(0, std::min(index, all - 1) - side), std::min(all, index + side + 1)};
    }
    if (shape().window == 0) return {0, index + 1};
    return {std::max(part.cache->floor(layer.index), index + 1 - shape().window), index + 1};
}

View TileJob::states_of(int row, int rows) const {
    if (!layer.encodings.reads_states()) return {};
    return states.data ? rows_of(states, row, rows) : part.cache->state(layer.index, part.first + row, rows);
}

Tile TileJob::query(int head, int row, float* rescored) const {
    Tile t{.layer = layer.index, .head = head, .scale = shape().scale, .first_query = part.first + row};
    t.queries = part.cache->positions(part.first + row, 1);
    t.q = queries({head, 1, row, 1});
    t.query_state = states_of(row, 1);
    t.rescored = rescored;
    return t;
}

Tile TileJob::tile(const Queries& of_head, KeyRange keys, View k) const {
    const auto [head, one, row, rows] = of_head;
    Tile t{.layer = layer.index,
           .head = head,
           .scale = shape().scale,
           .first_query = part.first + row,
           .first_key = keys.first};
    t.queries = part.cache->positions(part.first + row, rows);
    t.keys = part.cache->positions(keys.first, keys.last - keys.first);
    t.q = queries(of_head);
    t.k = k;
    t.query_state = states_of(row, rows);
    if (layer.encodings.reads() & reads_state)
        t.key_state = part.cache->state(layer.index, keys.first, keys.last - keys.first);
    return t;
}

View TileJob::gather_keys(int head, KeyRange keys, AttentionScratch& scratch, int slot) const {
    if (!(layer.encodings.reads() & reads_keys)) return {};
    const View k = scratch.keys(slot, keys.last - keys.first);
    cache().keys(layer.index, kv_head(head), keys.first, k);
    return k;
}

void TileJob::products(const Queries& some, KeyRange keys, std::byte* memory, View scores) const {
    // In whole vectors: the columns after the last token are never read.
    const int width = (keys.last - keys.first + 15) / 16 * 16;
    cache().multiply_keys(layer.index, kv_head(some.head), keys.first, shape().scale, queries(some), memory,
                          cols_of(scores, 0, width));
    if (shape().softcap != 0) soft_cap(shape().softcap, scores);
}

Tile TileJob::rows_of_tile(const Tile& t, int row, int i, int rows) const {
    const KeyRange own{seen(row + i).first, seen(row + i + rows - 1).last};
    const int first = own.first - t.first_key, count = own.last - own.first;
    Tile some = t;
    some.first_query = t.first_query + i;
    some.first_key = own.first;
    some.queries = t.queries.subspan(static_cast<std::size_t>(i), static_cast<std::size_t>(rows));
    some.keys = t.keys.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    some.q = rows_of(t.q, i, rows);
    if (t.k.data) some.k = rows_of(t.k, first, count);
    if (t.query_state.data) some.query_state = rows_of(t.query_state, i, rows);
    if (t.key_state.data) some.key_state = rows_of(t.key_state, first, count);
    return some;
}

bool TileJob::rescores_together(int rows) const {
    constexpr int least = 4; // fewer leave most of a vector empty
    return rows >= least && layer.encodings.rescores_tiles() && !shape().cross && shape().mask == Mask::causal;
}

void TileJob::rescore(View scores, int row, const Tile& t, float* rescored) const {
    const int rows = !rescored && rescores_together(scores.rows) ? scores.rows : 1;
    for (int i = 0; i < scores.rows; i += rows) {
        Tile some = rows_of_tile(t, row, i, rows);
        if (rescored) *(some.rescored = rescored + i) = 0;
        layer.encodings.rescore(
            cols_of(rows_of(scores, i, rows), some.first_key - t.first_key, static_cast<int>(some.keys.size())), some);
    }
}

void TileJob::share(int head, int query_row, float* rescored, int n, int first, int last, float* row) const {
    const float sink = moments() & moment_sink ? layer.encodings.sink(query(head, query_row, rescored)) : -HUGE_VALF;
    if (sink == -HUGE_VALF)
        softmax_row(n, first, last, row);
    else
        kernels().scale(last - first, share_beside_sink(softmax_part(n, first, last, row), sink), row + first);
}

void TileJob::normalise(const Queries& some, KeyRange keys, View scores, float* rescored) const {
    const int n = keys.last - keys.first;
    for (int i = 0; i < scores.rows; ++i) {
        const KeyRange own = seen(some.row_of(i));
        const int first = own.first - keys.first, last = own.last - keys.first;
        share(some.head_of(i), some.row_of(i), rescored ? rescored + i : nullptr, n, first, last, scores.row(i));
        if (shows_weights())
            layer.watch->weights(layer.index, some.head_of(i), part.first + some.row_of(i), own.first,
                                 {scores.row(i) + first, static_cast<std::size_t>(last - first)});
    }
}

View TileJob::unbiased(View scores, AttentionScratch& scratch, int slot) const {
    if (!layer.watch || !layer.watch->scores) return {};
    const View copy = scratch.unbiased(slot, scores.rows, scores.cols);
    for (int i = 0; i < scores.rows; ++i) std::copy_n(scores.row(i), scores.cols, copy.row(i));
    return copy;
}

void TileJob::show(const Queries& some, KeyRange keys, View before, View after) const {
    if (!before.data) return;
    for (int i = 0; i < after.rows; ++i) {
        const KeyRange own = seen(some.row_of(i));
        const int first = std::max(own.first, keys.first), at = first - keys.first;
        const int n = std::min(own.last, keys.last) - first;
        if (n <= 0) continue;
        layer.watch->scores(layer.index, some.head_of(i), part.first + some.row_of(i), first,
                            {before.row(i) + at, static_cast<std::size_t>(n)},
                            {after.row(i) + at, static_cast<std::size_t>(n)});
    }
}

KeyRange TileJob::slabs_of(int row, int rows) const {
    return {seen(row).first / KvCache::slab * KvCache::slab, seen(row + rows - 1).last};
}

template <class Body>
void TileJob::for_heads(const Queries& some, KeyRange keys, View k, View scores, const Body& body) const {
    for (int i = 0; i < some.heads; ++i)
        body(tile(some.of_head(i), keys, k), rows_of(scores, i * some.rows, some.rows));
}

void TileJob::run(const Queries& some, AttentionScratch& scratch, int slot) const {
    const KeyRange keys = slabs_of(some.row, some.rows);
    const int spans = spans_of(keys);
    // With a sink, even a single chunk gets its weight afterwards, as several chunks do.
    if ((spans > 1 || moments() & moment_sink) && !whole_rows()) {
        const int first = slot * AttentionScratch::tile;
        for (int i = 0; i < spans; ++i) average(some, i, first, scratch, slot);
        for (int i = 0; i < some.count(); ++i) combine(some, i, first + i, scratch, slot);
        return;
    }
    const View scores = scratch.scores(slot, some.count(), keys.last - keys.first);
    products(some, keys, scratch.queries(slot), scores);
    const View before = unbiased(scores, scratch, slot);
    const View k = gather_keys(some.head, keys, scratch, slot);
    float numbers[AttentionScratch::tile];
    float* const rescored = passes_rescored() ? numbers : nullptr;
    if (moments() & (moment_bias | moment_rescore))
        for_heads(some, keys, k, scores, [&](const Tile& t, View own) {
            if (moments() & moment_bias) layer.encodings.bias(own, t);
            if (moments() & moment_rescore)
                rescore(own, some.row, t, rescored ? rescored + (t.head - some.head) * some.rows : nullptr);
        });
    show(some, keys, before, scores);
    normalise(some, keys, scores, rescored);
    cache().multiply_values(layer.index, kv_head(some.head), keys.first, scores, gathered(some));
    if (moments() & moment_mix)
        for_heads(some, keys, k, scores, [&](const Tile& t, View own) {
            layer.encodings.mix(gathered(some.of_head(t.head - some.head)), own, t);
        });
}

void TileJob::average(const Queries& some, int span, int first, AttentionScratch& scratch, int slot) const {
    const KeyRange all = slabs_of(some.row, some.rows);
    const int start = (first_span(all) + span) * keys_of_span;
    const KeyRange keys{std::max(all.first, start), std::min(all.last, start + keys_of_span)};
    const int n = keys.last - keys.first, count = some.count();
    const View scores = shows_weights() // who is shown whole rows, so that they have to stay
                            ? cols_of(scratch.scores(slot, count, all.last - all.first), keys.first - all.first, n)
                            : scratch.scores(slot, count, n);
    const View averages = scratch.averages(first, count, span);
    products(some, keys, scratch.queries(slot), scores);
    const View before = unbiased(scores, scratch, slot);
    const View k = gather_keys(some.head, keys, scratch, slot);
    if (moments() & moment_bias)
        for_heads(some, keys, k, scores, [&](const Tile& t, View own) { layer.encodings.bias(own, t); });
    show(some, keys, before, scores);
    for (int i = 0; i < count; ++i) {
        const KeyRange own = seen(some.row_of(i));
        const int from = std::max(own.first, keys.first) - keys.first, to = std::min(own.last, keys.last) - keys.first;
        if (from < to)
            scratch.weights(first + i)[span] = softmax_part(n, from, to, scores.row(i));
        else // combine() ignores the average
            std::fill_n(scores.row(i), n, 0.0f);
    }
    cache().multiply_values(layer.index, kv_head(some.head), keys.first, scores, averages);
    if (moments() & moment_mix)
        for_heads(some, keys, k, scores, [&](const Tile& t, View own) {
            layer.encodings.mix(rows_of(averages, (t.head - some.head) * some.rows, some.rows), own, t);
        });
}

void TileJob::combine(const Queries& some, int i, int of, AttentionScratch& scratch, int slot) const {
    const Kernels& k = kernels();
    const int head = some.head_of(i), row = some.row_of(i);
    const KeyRange own = seen(row);
    const int before = first_span(own) - first_span(seen(some.row)), spans = spans_of(own);
    float* const weights = scratch.weights(of) + before;
    share(head, row, nullptr, spans, 0, spans, weights);
    float* const to = gathered({head, 1, row, 1}).row(0);
    std::fill_n(to, shape().d_head, 0.0f);
    for (int span = 0; span < spans; ++span)
        k.axpy(shape().d_head, weights[span], scratch.averages(of, 1, before + span).row(0), to);
    if (!shows_weights()) return;
    const auto [first, end] = slabs_of(some.row, some.rows);
    float* const shares = scratch.scores(slot, i + 1, end - first).row(i); // weights of the keys from `first` on
    for (int key = own.first, last; key < own.last; key = last) {
        last = std::min(own.last, (key / keys_of_span + 1) * keys_of_span);
        k.scale(last - key, weights[key / keys_of_span - first_span(own)], shares + key - first);
    }
    layer.watch->weights(layer.index, head, part.first + row, own.first,
                         {shares + own.first - first, static_cast<std::size_t>(own.last - own.first)});
}

} // namespace ordo
