// SPDX-License-Identifier: MIT
// A pass of rows of tokens through a model: the steps of its programs, upon memory that they share.
#pragma once

#include "core/pace.h"
#include "model/model.h"

namespace ordo {

struct PassSizes {
    int rows = 0;      // at most so many at once,
    int head_rows = 0; // of which the logits of so many are computed at a time,
    int capacity = 0;  // of sequences of at most so many tokens,
    int memory = 0;    // with at most so many tokens of an encoder's input
};

// The working memory of a pass; what lasts from one to the next is in the caches.
class Pass {
public:
    Pass() = default;
    // Throws std::bad_alloc. encodings: the model's, or what stands in for them.
    Pass(const Stack& model, std::shared_ptr<const EncodingStack> encodings, const PassSizes& sizes);
    static std::uint64_t bytes(const Stack& model, const PassSizes& sizes);

    // Through all layers: the rows [n, d] that the last one leaves. The caches hold the tokens afterwards.
    // Throws Error(model) if a layer yields values that are not finite, and nothing else but what a watcher throws.
    View forward(const PassRows& rows, const Watch* watch = nullptr);
    // Some of those rows after the final norm, if there is one: [n, d]. Throws Error(model) if they are not finite.
    View states(View rows);
    // The logits [n, vocab] of some of those rows, at most head_rows.
    View head(View rows);

    // Others from now on, that stand in for the model's.
    void use(std::shared_ptr<const EncodingStack> encodings) { encodings_ = std::move(encodings); }

private:
    // body() by a team, or alone if that has turned out to be faster.
    template <class Body>
    void run(const Body& body);
    // So many rows come, and the last ones have been through.
    void begin(int rows);
    LayerScratch scratch() { return {&attention_, &rows_scratch_, &experts_}; }
    void enter(const PassRows& in);
    void layer(int i, const PassRows& in, const Watch* watch);
    void finish(); // the rows that were put before it
    void watched(const PassRows& in, View rows, const Watch& watch);
    [[noreturn]] void not_finite(const std::string& what) const;

    const Stack* model_ = nullptr;
    std::shared_ptr<const EncodingStack> encodings_;
    std::vector<Buffer<float>> memory_;       // of the views below
    std::vector<View> enter_, finish_, head_; // values of each program: those of a slot lie upon each other
    std::vector<std::vector<View>> layers_;
    AttentionScratch attention_;
    RowScratch rows_scratch_;
    ExpertScratch experts_;
    Pace pace_; // of passes of rows_ rows, the last of which took so many seconds, the head included
    int rows_ = 0;
    double took_ = 0;
};

} // namespace ordo
