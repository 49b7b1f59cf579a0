// SPDX-License-Identifier: MIT
// How well a model predicts the tokens of a window, and sums of these scores.
#pragma once

#include "model/score.h"

namespace ordo::tools {

// Negative log-likelihoods in nats.
struct Tally {
    std::int64_t tokens = 0, bytes = 0;
    double sum = 0, squares = 0;

    void add(double nll, int n_bytes);
    double mean() const { return sum / static_cast<double>(tokens); }
    double standard_error() const; // over tokens, as if they were independent
};

// Buckets of positions in a window: 1 .. 15, 16 .. 31, 32 .. 63, 64 .. 127, ...
std::size_t bucket_of(int position);
// "64-127", in windows of at most `longest` tokens.
std::string bucket_name(std::size_t bucket, int longest);

// The negative log-likelihoods of tokens 1 .. n - 1 of a window, [n - 1], starting with an empty cache.
std::vector<double> score_window(Session& session, std::span<const Token> window);

} // namespace ordo::tools
