// SPDX-License-Identifier: MIT
// Negative log-likelihoods of tokens.
#pragma once

#include "ordo.h"

namespace ordo {

// -log softmax(logits)[target], in double.
double nll_of(std::span<const float> logits, Token target);
// Those of tokens 1 .. n - 1, [n - 1], after the tokens that the session holds.
std::vector<double> score_continuation(Session& session, std::span<const Token> tokens);

} // namespace ordo
