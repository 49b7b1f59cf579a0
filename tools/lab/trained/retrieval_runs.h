// SPDX-License-Identifier: MIT
// Models that learn to find words in a haystack, and their answers by length and depth.
#pragma once

#include "tools/lab/study/grid.h"
#include "tools/lab/trained/haystack.h"

namespace ordo::lab::retrieval {

inline constexpr double solved_at = 0.9, half = 0.5;
inline constexpr double quick_effort = 0.15; // fraction of the steps
inline constexpr double depths[] = {0, 0.25, 0.5, 0.75, 1};
inline constexpr int depth_count = static_cast<int>(std::size(depths));

struct RetrievalKind {
    const char *name, *what;
    int needles, steps;
};
inline constexpr RetrievalKind kinds[] = {{"passkey", "a hidden word", 1, 600},
                                          {"needle", "one of three hidden words", 3, 3000}};

struct RetrievalPlan {
    const Haystack* haystack;
    std::vector<std::string> encodings;
    std::vector<int> times; // in trained lengths
    int length, seeds, samples;
    double effort; // fraction of the steps
    bool quick;
};

// Correct answers of one run, [times][depth]; -1 if the encoding lacks positions for the length.
using Right = std::vector<std::array<int, depth_count>>;

Grid<Right> train_all(const RetrievalPlan& plan, const Request& request);

// The share of correct answers of some seeds at one length, at one depth or (depth_count) all; NaN: no positions.
double share(const RetrievalPlan& plan, std::span<const Right> seeds, std::size_t times, int depth = depth_count);

// Whether the runs are above a bound: their verdict if they agree, otherwise undecided. The interval of a run's own
// answers decides its verdict. Longer training may change the results of --quick.
Verdict verdict_of(const RetrievalPlan& plan, std::span<const Right> seeds, std::size_t times, double bound);

} // namespace ordo::lab::retrieval
