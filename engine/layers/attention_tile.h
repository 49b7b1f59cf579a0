// SPDX-License-Identifier: MIT
// Tiles of the queries of one head: what attention computes forward, and again backward.
#pragma once

#include "layers/attention.h"
#include "ops/softmax.h"

#include <cmath>

namespace ordo {

struct KeyRange {
    int first, last; // tokens [first, last)
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
    View queries(int head, int row, int rows) const {
        return cols_of(rows_of(q, row, rows), head * shape().d_head, shape().d_head);
    }
    View gathered(int head, int row, int rows) const {
        return cols_of(rows_of(out, row, rows), head * shape().d_head, shape().d_head);
    }

    // What encodings are shown; k: gather_keys(), which has no data where nobody reads them.
    Tile tile(int head, int row, int rows, KeyRange keys, View k) const;
    View gather_keys(int head, KeyRange keys, AttentionScratch& scratch, int slot) const;

    // scores [rows, keys] = scaled and capped products with the keys of a range that begins with a slab.
    void products(int head, int row, int rows, KeyRange keys, View scores) const;
    // The i-th row of a tile that begins at `row`, with the keys that it sees.
    Tile row_of(const Tile& t, int row, int i) const;
    // Each row of the tile t, of the keys that it sees.
    void rescore(View scores, int row, const Tile& t) const;
    // Softmax over [first, last) of a row of scores or of the weights of spans, beside the sink; 0 elsewhere.
    void share(int head, int n, int first, int last, float* row) const;
    // Softmax of each row over the keys that it sees, beside the sink.
    void normalise(int head, int row, KeyRange keys, View scores) const;

    // Some queries of a head, from their scores to what they gather.
    void run(int head, int row, int rows, AttentionScratch& scratch, int slot) const;
    // The first of its two steps where keys are in several spans: what the rows gather from one span, counted from the first
    // that the tile sees, and what it weighs go to rows of scratch from `first` on.
    void average(int head, int row, int rows, int span, int first, AttentionScratch& scratch, int slot) const;
    // The second: the averages of all spans, in row `of` of scratch, become what the tile's i-th row gathers.
    void combine(int head, int row, int i, int of, AttentionScratch& scratch, int slot) const;
};

} // namespace ordo
