// SPDX-License-Identifier: MIT
// Small models that are trained on the spot, each on one thread, several at once. What comes out is a Model
// like any other: it is the engine's own inference that experiments look at.
#pragma once

#include "core/timer.h"
#include "model/model.h"

#include <atomic>
#include <functional>

namespace ordo::lab {

struct Recipe {
    Blueprint trunk; // context: the positions that an encoding with a table of them has rows for
    int batch = 32;  // sequences of a step
    int length = 16; // tokens of each
    int steps = 100; // 0: the model as it starts
    double lr = 3e-3, weight_decay = 0.01, clip = 1;
    // Where solved > 0, at most so many steps: the rate stays at its peak until the mean loss of recent steps, in nats,
    // is below it, and then falls in a line over `decay` steps, the last ones.
    double solved = 0;
    int decay = 0;
    // Writes the [batch * length] tokens of a step and, for each, the one to predict or -1. Depends on nothing
    // else, so that all encodings see the same data in the same order; called by many threads at once.
    std::function<void(std::uint64_t seed, int step, std::span<Token> tokens, std::span<Token> targets)> draw;
};

// A count of steps for a progress line, from any number of threads; the line is shown by the first.
class Meter {
public:
    Meter(std::int64_t total, std::string what, std::function<void(const std::string&)> show);
    void add(std::int64_t steps);

private:
    std::int64_t total_;
    std::string what_;
    std::function<void(const std::string&)> show_;
    std::atomic<std::int64_t> done_ = 0;
    Clock::time_point start_ = Clock::now(), shown_ = start_;
};

// The trunk with an encoding, its weights drawn with the seed and trained on the calling thread: the same bits
// wherever it runs. Matrices start sqrt(768 / d_model) times as large as elsewhere: the usual deviation of 0.02
// is of a width of 768 (Radford et al. 2019), and narrow models would begin with sums near 0. AdamW; the rate rises
// over a twentieth of the steps and falls to a tenth along half a cosine, but where the recipe says when its task is
// solved. The model is prepared for the given positions. steps: those that were taken. Throws Error(failure) if the
// loss is not finite, Error(limit) for an encoding without positions for the recipe's length.
Model small_model(const Recipe& recipe, const std::string& encoding, std::uint64_t seed, int positions, Meter& meter,
                  int* steps = nullptr);

// Throws what small_model() would throw for the encoding before the first step: to be asked before any of many
// models is trained.
void check_recipe(const Recipe& recipe, const std::string& encoding);

// A session for a small model that may run beside others: it never calls BLAS.
Session small_session(const Model& model, int capacity);

// True for encodings that leave everything as it is, or add the same to each token of a segment: of a sentence
// in one segment they tell the model nothing about order.
bool says_nothing_of_position(const std::string& encoding, const Dims& dims);

// body(i) for i in [0, n), as many at once as there are threads. What a body throws is thrown at the end, that
// of the lowest i first.
void side_by_side(int n, const std::function<void(int)>& body);

} // namespace ordo::lab
