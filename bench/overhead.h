// SPDX-License-Identifier: MIT
// What each encoding costs: the same trunk run with each of them in turn.
#pragma once

#include "model/model.h"

namespace ordo::bench {

// One point of the grid. Names and meanings are those of llama-bench: n_prompt tokens fed at once, or
// n_gen tokens one at a time (one of the two is 0), after n_depth tokens that are not timed.
struct Workload {
    int n_prompt = 0;
    int n_gen = 0;
    int n_depth = 0;
    int n_threads = 1;
    int n_parallel = 1; // sequences that are decoded together, each of so many tokens
    CacheType cache = CacheType::f32;

    int tokens() const { return n_prompt + n_gen; } // of one sequence
    std::string name() const;                       // "pp512", "tg128 @ d1024", "tg128 x 8"
};
// Every prompt length, and every n_gen for every number of sequences, at every depth and thread count; a
// length of 0 is no load.
std::vector<Workload> workloads(std::span<const std::int64_t> prompts, std::span<const std::int64_t> gens,
                                std::span<const std::int64_t> depths, std::span<const std::int64_t> threads,
                                std::span<const std::int64_t> parallel);

// Microseconds per token that an encoding's calls take, made alone on the shapes that the pass makes
// them on: all layers, heads and chunks.
struct StageTimes {
    double embed = 0, rotate = 0, bias = 0;

    double sum() const { return embed + rotate + bias; }
};

struct EncodingBytes {
    std::size_t tables = 0;     // what making and preparing it allocated, its tensors apart
    std::size_t parameters = 0; // its trainable tensors, as f32
};

struct EncodingCost {
    std::string encoding; // canonical spec
    EncodingBytes bytes;
    std::vector<double> seconds; // of the pass, one for each round
    StageTimes stages;
};

// The same trunk with another encoding, without a copy: the weights of trunk, which must outlive the
// result. Every encoding is thus measured on the same memory; copies would differ by where their pages
// happened to lie, which can be worth more than an encoding. The encoding's own tensors are random.
Model with_encoding(const Model& trunk, std::string_view encoding, int context, EncodingBytes* bytes = nullptr);

struct Plan {
    std::vector<std::string> encodings; // "none" first
    int rounds = 5;
    int chunk = 256; // tokens processed at once in prefill
    int beside = 0;  // busy threads of no use
};

// Runs one load with every encoding: one round that is not counted, then `rounds` rounds of all
// encodings, each round in another random order. In the order of plan.encodings. on_pass is told of
// every pass that is about to run. Sets the number of threads.
std::vector<EncodingCost> measure(const Model& trunk, const Plan& plan, const Workload& load,
                                  const std::function<void(int round, std::string_view encoding)>& on_pass = {});

// The calls of the encoding in one load, timed alone `rounds` times; the medians.
StageTimes stage_times(const Blueprint& blueprint, const EncodingStack& encodings, const Workload& load, int chunk,
                       int rounds);

} // namespace ordo::bench
