// SPDX-License-Identifier: MIT
// The work of a benchmark.
#pragma once

#include "ordo.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ordo::bench {

// One point of the grid. Names and meanings are llama-bench's: n_prompt tokens fed at once, or n_gen tokens one at a
// time (one of the two is 0), after n_depth tokens that are not timed.
struct Workload {
    int n_prompt = 0;
    int n_gen = 0;
    int n_depth = 0;
    int n_threads = 1;
    int n_parallel = 1; // sequences decoded together, each of n_gen tokens
    CacheType cache = CacheType::f32;

    int tokens() const { return n_prompt + n_gen; } // of one sequence
    std::string name() const;                       // "pp512", "tg128 @ d1024", "tg128 x 8"
};
// Every prompt length, and every n_gen for every number of sequences, at every depth and thread count. A length of 0
// gives no load.
std::vector<Workload> workloads(std::span<const std::int64_t> prompts, std::span<const std::int64_t> gens,
                                std::span<const std::int64_t> depths, std::span<const std::int64_t> threads,
                                std::span<const std::int64_t> parallel);

} // namespace ordo::bench
