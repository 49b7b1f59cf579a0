// SPDX-License-Identifier: MIT
// Small models that an experiment trains, each on one thread, several at once. The result is an ordinary Model:
// experiments examine the engine's own inference.
#pragma once

#include "core/timer.h"
#include "model/model_access.h"

#include <algorithm>
#include <atomic>
#include <functional>

namespace ordo::lab {

// A model of width 64.
inline Blueprint small_trunk(int vocabulary, int context, int layers, int heads = 4, int d_ff = 128) {
    Blueprint trunk;
    trunk.vocab_size = vocabulary;
    trunk.context = context;
    trunk.n_layers = layers;
    trunk.d_model = 64;
    trunk.n_heads = trunk.n_kv_heads = heads;
    trunk.d_head = 64 / heads;
    trunk.d_ff = d_ff;
    return trunk;
}

struct Recipe {
    Blueprint trunk = {}; // context: the number of rows in an encoding's position table
    int batch = 32;       // sequences in a step
    int length = 16;      // tokens in each
    int steps = 100;      // 0: the untrained model
    int positions = 0;    // that the model is prepared for; 0: `length`
    double lr = 3e-3, weight_decay = 0.01, clip = 1;
    // With solved > 0, the maximum number of steps. The learning rate stays at its peak until the mean recent loss, in
    // nats, is below `solved`. After that it falls linearly over the last `decay` steps.
    double solved = 0;
    int decay = 0;
    // Writes the [batch * length] tokens of a step, and for each token its target or -1. Depends only on seed and step,
    // so that all encodings see the same data in the same order. Many threads call it at once.
    std::function<void(std::uint64_t seed, int step, std::span<Token> tokens, std::span<Token> targets)> draw = {};
    // Writes the segments of one sequence, 0 before. Without it the model gets none.
    std::function<void(std::uint64_t seed, std::uint64_t number, std::span<int> segments)> segments = {};

    // Draws each sequence by one(seed, number, tokens, targets): numbers count through the training, tokens are 0 and
    // targets -1 before.
    template <class One>
    void draw_each(One one) {
        const auto n = static_cast<std::size_t>(length);
        draw = [one, n](std::uint64_t seed, int step, std::span<Token> tokens, std::span<Token> targets) {
            std::ranges::fill(tokens, 0);
            std::ranges::fill(targets, -1);
            const std::uint64_t each = tokens.size() / n, first = static_cast<std::uint64_t>(step) * each;
            for (std::uint64_t i = 0; i < each; ++i)
                one(seed, first + i, tokens.subspan(i * n, n), targets.subspan(i * n, n));
        };
    }
};

// A count of steps for a progress line. Any thread may count; the first one shows the line.
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

// The trunk with an encoding, initialized from the seed and trained on the calling thread: the same bits on every
// thread. Matrices start sqrt(768 / d_model) times as large as elsewhere. The usual deviation of 0.02 is for a width of
// 768 (Radford et al. 2019); narrow models would begin with sums near 0.
// The optimizer is AdamW. The rate rises over a twentieth of the steps and falls to a tenth along half a cosine, unless
// the recipe sets `solved`. steps: receives the number of steps.
// Throws Error(failure) if the loss is not finite, Error(limit) if the encoding lacks positions for the recipe's
// length.
Model small_model(const Recipe& recipe, const std::string& encoding, std::uint64_t seed, Meter& meter,
                  int* steps = nullptr);

// Throws the errors that small_model() would throw for the encoding before its first step. Call it before training any
// of many models.
void check_recipe(const Recipe& recipe, const std::string& encoding);

// A session for a small model. It never calls BLAS, so it can run in parallel with others.
Session small_session(const Model& model, int capacity);

// True for encodings that change nothing, add the same to each token of a segment, only scale queries, or have
// positions for digits alone, which the lab's texts lack. In one segment they tell the model nothing about order.
bool says_nothing_of_position(const std::string& encoding, const Dims& dims);

// Calls body(i) for i in [0, n) on all threads. Exceptions are thrown again at the end, that of the lowest i first.
void side_by_side(int n, const std::function<void(int)>& body);

} // namespace ordo::lab
