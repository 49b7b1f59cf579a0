// SPDX-License-Identifier: MIT
// A pass of rows of tokens through a model: runs its programs on shared memory.
#pragma once

#include "core/pace.h"
#include "model/stack.h"

namespace ordo {

struct PassSizes {
    int rows = 0;      // maximum number of rows
    int head_rows = 0; // number of rows whose logits are computed at a time
    int capacity = 0;  // maximum tokens of a sequence
    int memory = 0;    // maximum tokens of an encoder's input
};

// The working memory of a pass. State between passes is in the caches.
class Pass {
public:
    Pass() = default;
    // Throws std::bad_alloc. encodings: the model's, or their versions at a length.
    Pass(const Stack& model, std::shared_ptr<const ModelEncodings> encodings, const PassSizes& sizes);
    static std::uint64_t bytes(const Stack& model, const PassSizes& sizes);

    // Through all layers: returns the rows [n, d] of the last one. The caches then hold the tokens. Throws Error(model)
    // if a layer's values are not finite, and only a watcher's exceptions besides.
    View forward(const PassRows& rows, const Watch* watch = nullptr);
    // The logits [1, vocab] after the last of these rows. A single row goes from its token to there in one team.
    View logits(const PassRows& rows, const Watch* watch = nullptr);
    void keep_unbiased() { attention_.keep_unbiased(); } // for a watcher of scores
    // Some of those rows after the final norm, if there is one: [n, d]. Throws Error(model) if they are not finite.
    View states(View rows);
    // The logits [n, vocab] of some of those rows, at most head_rows.
    View head(View rows);

    // Replaces the encodings, by their versions at another length.
    void use(std::shared_ptr<const ModelEncodings> encodings);

private:
    // Runs body() on a team, or on one thread if that has proved faster.
    template <class Body>
    void run(const Body& body);
    void make_runs();
    // Called before a pass; ends the previous one. Returns its rows, the output of the last layer.
    View begin(const PassRows& in);
    LayerScratch scratch() { return {&attention_, &rows_scratch_, &experts_}; }
    LayerRun outside(const Program& program, const LayerWeights& weights, std::span<const View> values,
                     const Steps& steps = {}) const;
    LayerRun enter() const;
    LayerRun layer(int i, const Watch* watch = nullptr) const;
    void watched(const PassRows& in, View rows, const Watch& watch);
    void set_head_input(View rows); // to the final norm and the head
    View logits_of(View rows);
    void expect_finite(const PassRows& in, View rows);
    [[noreturn]] void not_finite(const std::string& what) const;

    const Stack* model_ = nullptr;
    std::shared_ptr<const ModelEncodings> encodings_;
    std::vector<Buffer<float>> memory_;       // of the views below
    std::vector<View> enter_, finish_, head_; // values of each program: those of a slot share memory
    std::vector<std::vector<View>> layers_;
    std::vector<LayerRun> runs_; // all, up to the logits
    AttentionScratch attention_;
    RowScratch rows_scratch_;
    ExpertScratch experts_;
    Pace pace_; // for passes of rows_ rows; took_: seconds of the last one, with the head
    int rows_ = 0;
    double took_ = 0;
};

} // namespace ordo
