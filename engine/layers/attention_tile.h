// SPDX-License-Identifier: MIT
// Tiles of queries that attend to the same keys, for the forward and the backward pass.
#pragma once

#include "layers/attention.h"
#include "ops/softmax.h"

#include <cmath>

namespace ordo {

struct KeyRange {
    int first, last; // tokens [first, last)
};

inline constexpr int keys_of_span = 16 * KvCache::slab;
// Chunks begin at multiples of their length, for every query.
inline int first_span(KeyRange keys) {
    return keys.first / keys_of_span;
}
inline int spans_of(KeyRange keys) {
    return (keys.last - 1) / keys_of_span - first_span(keys) + 1;
}

// Queries that attend to the same keys at once. They are several rows of one head, or one row of several heads that
// share a key/value head. The keys are then read once for all of them.
struct Queries {
    int head, heads, row, rows; // heads or rows is 1

    int count() const { return heads * rows; }
    int head_of(int i) const { return heads == 1 ? head : head + i; }
    int row_of(int i) const { return heads == 1 ? row + i : row; }
    Queries of_head(int i) const { return {head + i, 1, row, rows}; }
};

// The fraction of the attention that a sink leaves to the keys, whose exponentials sum to exp(log_sum).
inline float share_beside_sink(float log_sum, float sink) {
    return 1 / (1 + std::exp(sink - log_sum));
}

// The tiles of one sequence, with the queries and the output of all heads. states: of its rows, if the cache does not
// keep all of them.
struct TileJob {
    const AttentionLayer& layer;
    const Part& part;
    View q, out;
    View states = {};

    const AttentionShape& shape() const { return layer.shape; }
    unsigned moments() const { return layer.encodings.moments(); }
    // Whether a row must not be split into chunks of keys.
    bool whole_rows() const { return (moments() & moment_rescore) != 0; }
    KeyRange seen(int row) const;               // the tokens that the query of a row attends to
    KeyRange slabs_of(int row, int rows) const; // tokens for any of a tile's rows, from the start of a slab
    KvCache& cache() const { return shape().cross ? *part.memory : *part.cache; }
    int kv_head(int head) const { return head / (shape().n_heads / shape().n_kv_heads); }
    // Of q or out: [count, d_head].
    View part_of(View all, const Queries& some) const;
    View queries(const Queries& some) const { return part_of(q, some); }
    View gathered(const Queries& some) const { return part_of(out, some); }

    // The states of some rows; no data if no encoding reads them.
    View states_of(int row, int rows) const;
    // The tile for encodings. k: gather_keys(), which has no data if no encoding reads keys.
    Tile tile(const Queries& of_head, KeyRange keys, View k) const;
    // The tile of one query, without keys.
    Tile query(int head, int row, float* rescored) const;
    View gather_keys(int head, KeyRange keys, AttentionScratch& scratch, int slot) const;

    // scores [count, keys] = scaled and capped products with the keys of a range that begins at a slab. memory: from
    // scratch.
    void products(const Queries& some, KeyRange keys, std::byte* memory, View scores) const;
    // Some rows of a tile that begins at `row`, with the keys that any of them sees.
    Tile rows_of_tile(const Tile& t, int row, int i, int rows) const;
    Tile row_of(const Tile& t, int row, int i) const { return rows_of_tile(t, row, i, 1); }
    // Whether the encodings rescore so many rows at once.
    bool rescores_together(int rows) const;
    // Rescores each row of the tile t, over its visible keys. rescored: a number of each row for its sink, or null.
    void rescore(View scores, int row, const Tile& t, float* rescored) const;
    bool passes_rescored() const { return layer.encodings.passes_rescored(); }
    // A copy of scores for a watcher of them, before encodings act; no data if there is none.
    View unbiased(View scores, AttentionScratch& scratch, int slot) const;
    void show(const Queries& some, KeyRange keys, View before, View after) const;
    bool shows_weights() const { return layer.watch && layer.watch->weights; }
    // Softmax over [first, last) of a row of scores or of the weights of spans, beside the sink of its query; 0
    // elsewhere.
    void share(int head, int query_row, float* rescored, int n, int first, int last, float* row) const;
    // Softmax of each row over its visible keys, with the sink.
    void normalise(const Queries& some, KeyRange keys, View scores, float* rescored) const;

    // Computes the output of some queries, from their scores on.
    void run(const Queries& some, AttentionScratch& scratch, int slot) const;
    // The first of two steps if there are several chunks of keys. It writes the queries' averages over one chunk and
    // the weight of the chunk to rows of scratch, from `first` on. Chunks are counted from the first visible one.
    void average(const Queries& some, int span, int first, AttentionScratch& scratch, int slot) const;
    // The second step: combines the averages of all chunks, in row `of` of scratch, into the output of the i-th query.
    void combine(const Queries& some, int i, int of, AttentionScratch& scratch, int slot) const;

private:
    // Calls body(t, scores) for each head where encodings act, with its tile and its rows of the scores. k:
    // gather_keys().
    template <class Body>
    void for_heads(const Queries& some, KeyRange keys, View k, View scores, const Body& body) const;
};

} // namespace ordo
