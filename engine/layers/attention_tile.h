// SPDX-License-Identifier: MIT
// Tiles of queries that meet the same keys: what attention computes forward, and again backward.
#pragma once

#include "layers/attention.h"
#include "ops/softmax.h"

#include <cmath>

namespace ordo {

struct KeyRange {
    int first, last; // tokens [first, last)
};

inline constexpr int keys_of_span = 16 * KvCache::slab;
// Spans begin at multiples of their length, whoever looks.
inline int first_span(KeyRange keys) {
    return keys.first / keys_of_span;
}
inline int spans_of(KeyRange keys) {
    return (keys.last - 1) / keys_of_span - first_span(keys) + 1;
}

// What meets the same keys at once: queries of some rows of one head, or of a single row those of some heads that
// share a key/value head, which are then read once for all of them.
struct Queries {
    int head, heads, row, rows; // heads or rows is 1

    int count() const { return heads * rows; }
    int head_of(int i) const { return heads == 1 ? head : head + i; }
    int row_of(int i) const { return heads == 1 ? row + i : row; }
    Queries of_head(int i) const { return {head + i, 1, row, rows}; }
};

// What is left to the keys beside a sink, whose logits' exponentials sum to exp(log_sum).
inline float share_beside_sink(float log_sum, float sink) {
    return 1 / (1 + std::exp(sink - log_sum));
}

// Of one part, whose queries and output are those of all heads.
struct TileJob {
    const AttentionLayer& layer;
    const Part& part;
    View q, out;

    const AttentionShape& shape() const { return layer.shape; }
    unsigned moments() const { return layer.encodings.moments(); }
    // A row may not be cut into spans of keys.
    bool whole_rows() const { return (moments() & moment_rescore) != 0; }
    KeyRange seen(int row) const;               // the tokens that the query of a row sees
    KeyRange slabs_of(int row, int rows) const; // those that any of a tile's rows sees, from the start of a slab
    KvCache& cache() const { return shape().cross ? *part.memory : *part.cache; }
    int kv_head(int head) const { return head / (shape().n_heads / shape().n_kv_heads); }
    // Of q or out, [count, d_head].
    View part_of(View all, const Queries& some) const;
    View queries(const Queries& some) const { return part_of(q, some); }
    View gathered(const Queries& some) const { return part_of(out, some); }

    // What encodings are shown; k: gather_keys(), which has no data where nobody reads them.
    Tile tile(const Queries& of_head, KeyRange keys, View k) const;
    View gather_keys(int head, KeyRange keys, AttentionScratch& scratch, int slot) const;

    // scores [count, keys] = scaled and capped products with the keys of a range that begins with a slab. memory:
    // scratch's.
    void products(const Queries& some, KeyRange keys, std::byte* memory, View scores) const;
    // The i-th row of a tile that begins at `row`, with the keys that it sees.
    Tile row_of(const Tile& t, int row, int i) const;
    // Each row of the tile t, of the keys that it sees.
    void rescore(View scores, int row, const Tile& t) const;
    // Softmax over [first, last) of a row of scores or of the weights of spans, beside the sink; 0 elsewhere.
    void share(int head, int n, int first, int last, float* row) const;
    // Softmax of each row over the keys that it sees, beside the sink.
    void normalise(const Queries& some, KeyRange keys, View scores) const;

    // Some queries, from their scores to what they gather.
    void run(const Queries& some, AttentionScratch& scratch, int slot) const;
    // The first of its two steps where keys are in several spans: what the queries gather from one span, counted from
    // the first that any of them sees, and what it weighs go to rows of scratch from `first` on.
    void average(const Queries& some, int span, int first, AttentionScratch& scratch, int slot) const;
    // The second: the averages of all spans, in row `of` of scratch, become what the i-th query gathers.
    void combine(const Queries& some, int i, int of, AttentionScratch& scratch, int slot) const;

private:
    // body(t, scores) for each head, where encodings act: with its tile, and its rows of the scores. k: gather_keys().
    template <class Body>
    void for_heads(const Queries& some, KeyRange keys, View k, View scores, const Body& body) const;
};

} // namespace ordo
