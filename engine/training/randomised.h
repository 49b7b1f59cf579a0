// SPDX-License-Identifier: MIT
// Randomised positions (Ruoss et al. 2023, "Randomized Positional Encodings Boost Length Generalization of
// Transformers", arXiv 2305.16843). A model is trained on short sequences whose positions are drawn from a longer
// range, so that no position of a longer sequence is new to it.
#pragma once

#include <cstdint>
#include <span>

namespace ordo {

// A sorted random subset of n = out.size() <= below positions of 0 .. below - 1, for sequence number `sequence` of a
// run.
void randomised_positions(std::uint64_t seed, std::uint64_t sequence, int below, std::span<int> out);

// The mean of such subsets, rounded down: position i of n is (i + 1) (below + 1) / (n + 1) - 1, the expectation of the
// i-th of n sorted numbers. The paper also draws at random in the test, so that a loss is one of many. This subset is
// in their middle. 0 .. n - 1 would be drawn almost never, and its neighbours are closer than in training.
void even_positions(int below, std::span<int> out);

} // namespace ordo
