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

// Memory for the scores of one tile of queries, per thread.
class AttentionScratch {
public:
    static constexpr int tile = 24; // queries; a multiple of what the kernels take at once

    AttentionScratch() = default;
    // For as many threads as there are now; more will not be used.
    AttentionScratch(const AttentionShape& shape, int capacity);
    static std::uint64_t floats(const AttentionShape& shape, int capacity);

    int slots() const { return slots_; }
    View scores(int slot, int rows, int keys);

private:
    Buffer<float> scores_; // [slots, tile, columns]
    int slots_ = 1, columns_ = 0;
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
// A causal query sees the tokens of its sequence up to its own index, at most window of them; a
// bidirectional one sees all of them.
void attention(const AttentionShape& shape, const EncodingStack& encodings, int layer, std::span<const Part> parts,
               View qkv, AttentionScratch& scratch, View out);

} // namespace ordo
