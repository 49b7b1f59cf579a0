// SPDX-License-Identifier: MIT
// Rows of tokens on their way through a model: of one sequence or of several, many at once or one each.
#pragma once

#include "model/model.h"

namespace ordo {

struct PassRows {
    std::span<const Token> tokens;
    std::span<const int> segments; // one for each token, or empty
    Positions positions;           // one for each token
    std::span<const Part> parts;   // whose they are
};

// The working memory of a pass; what lasts from one to the next is in the caches.
class Pass {
public:
    Pass() = default;
    // For at most rows rows, of which the logits of head_rows are computed at a time, of so many sequences of
    // at most capacity tokens. Throws std::bad_alloc, and Error(limit) where the BLAS can have no memory.
    Pass(const Model::Impl& model, int rows, int head_rows, int capacity, int sequences);
    static std::uint64_t bytes(const Model::Impl& model, int rows, int head_rows, int capacity, int sequences);

    // Through all layers: the rows [n, d] that the head reads. The caches hold the tokens afterwards.
    // Throws Error(model) if a layer yields values that are not finite, and nothing else.
    View forward(const PassRows& rows);
    // The logits [n, vocab] of some of those rows, at most head_rows.
    View head(View rows);

private:
    void enter(const PassRows& in, View rows);
    void layer(int i, const PassRows& in, View rows);
    [[noreturn]] void not_finite(const std::string& stage) const;

    const Model::Impl* model_ = nullptr;
    Tensor x_, normed_, branch_; // [rows, d]: the residual stream, a branch's input and output
    Tensor qkv_, attended_, hidden_;
    Tensor logits_; // [head_rows, vocab]
    AttentionScratch attention_;
    RowScratch rows_scratch_;
};

} // namespace ordo
