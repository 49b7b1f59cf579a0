// SPDX-License-Identifier: MIT
// Likelihoods of tokens.
#pragma once

#include "ordo.h"

namespace ordo {

// -log softmax(logits)[target], in double.
double nll_of(std::span<const float> logits, Token target);
// The `count` tokens with the greatest softmax(logits), or all; ties go to the lowest id.
std::vector<Candidate> likeliest(std::span<const float> logits, int count);
// Those of tokens 1 .. n - 1, [n - 1], after the tokens that the session holds.
std::vector<double> score_continuation(Session& session, std::span<const Token> tokens);

} // namespace ordo
