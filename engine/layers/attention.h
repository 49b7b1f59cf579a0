// SPDX-License-Identifier: MIT
// Scaled dot-product attention over a cache (Vaswani et al. 2017, section 3.2), with fewer key/value
// than query heads if asked (Ainslie et al. 2023). It knows the stages at which an encoding acts,
// never the encoding.
#pragma once

#include "encoding/registry.h"
#include "layers/kinds.h"
#include "layers/kv_cache.h"

namespace ordo {

struct AttentionShape {
    int n_heads = 0;
    int n_kv_heads = 0; // query head h reads key/value head h / (n_heads / n_kv_heads)
    int d_head = 0;
    float scale = 0;
    Mask mask = Mask::causal;
    int window = 0;    // keys that a query sees, itself included; 0: all
    float softcap = 0; // of scaled scores, before the bias; 0: none
};

// Memory for the scores of one tile of queries, per thread, and for what single queries gather from spans of
// a long sequence.
class AttentionScratch {
public:
    static constexpr int tile = 24; // queries; a multiple of what the kernels take at once

    AttentionScratch() = default;
    // For as many threads as there are now; more will not be used. sequences: rows that are alone in theirs.
    AttentionScratch(const AttentionShape& shape, int capacity, int sequences);
    static std::uint64_t floats(const AttentionShape& shape, int capacity, int sequences);

    int slots() const { return slots_; }
    View scores(int slot, int rows, int keys);
    // Of the i-th sequence and a head: an average of values [d_head] for each span of the keys, then a weight each.
    View averages(int i, int head);
    float* weights(int i, int head);

private:
    std::ptrdiff_t span_floats() const { return std::ptrdiff_t{spans_} * (d_head_ + 1); }

    Buffer<float> scores_;         // [slots, tile, columns]
    Buffer<float> spans_of_heads_; // [sequences, heads, spans * (d_head + 1)]
    int slots_ = 1, columns_ = 0, spans_ = 0, n_heads_ = 0, d_head_ = 0;
};

// Rows of one sequence: the tokens from index first on, before which its cache holds the others.
struct Part {
    KvCache* cache;
    int first, rows;
};

// qkv [n, (n_heads + 2 n_kv_heads) * d_head] holds queries, then keys, then values of the rows of the
// parts, one part after the other: either a single part, or parts of one row each. The tokens' positions
// stand in the caches. Rotates queries and keys in place, caches keys and values, and writes what the
// queries gather to out [n, n_heads * d_head].
// A single query sees a long sequence in spans of 512 keys, whose averages are then weighed against each other
// (as Flash-Decoding does, Dao et al. 2023): where heads are fewer than threads, threads share the spans. What
// is computed depends on the length alone.
// A causal query sees the tokens of its sequence up to its own index, at most window of them; a
// bidirectional one sees all of them.
void attention(const AttentionShape& shape, const EncodingStack& encodings, int layer, std::span<const Part> parts,
               View qkv, AttentionScratch& scratch, View out);

} // namespace ordo
