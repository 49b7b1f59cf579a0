// SPDX-License-Identifier: MIT
// A query that walks from its own token to each of its keys, and is changed by every token on its way (Walk in
// kernels.h), so that a plain score scale q_i . k_j becomes scale r_j . k_j. The difference is added, and the biases of
// other encodings stay. Of two tokens, the later one and the tokens between them act. A query that sees later keys
// walks to them as well.
#pragma once

#include "encoding/base/registered.h"

#include <span>

namespace ordo {

// The part of a token's state that changes a row of d_head columns r: r -= factor (r . x) x for x from column `first`
// on and the factor in its own column, or r -= r * x for each column if there is none.
struct WalkState {
    int first;
    int factor = -1;
};

// An encoding with such queries. RESCORE may take several rows at once, of one head and neighbouring queries: they walk
// together where they pass the same tokens. A row has the same bits as that row alone.
class WalkingEncoding : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void ready() override; // throws Error(usage) for heads with more columns than a walk takes
    unsigned reads() const override { return reads_queries | reads_keys | reads_state; }

    void rescore(View scores, const Tile& tile) const override { rescore_rows({&scores, 1}, {&tile, 1}); }
    void rescore_backward(View d_scores, View, const Tile& tile, const Gradients& gradient) const override {
        rescore_rows_backward({&d_scores, 1}, {&tile, 1}, {&gradient, 1});
    }
    // At most most_walk_queries rows.
    void rescore_rows(std::span<const View> scores, std::span<const Tile> rows) const;
    void rescore_rows_backward(std::span<const View> d_scores, std::span<const Tile> rows,
                               std::span<const Gradients> gradients) const;

private:
    virtual WalkState walk_state(int head) const = 0;
};

} // namespace ordo
