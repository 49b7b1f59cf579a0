// SPDX-License-Identifier: MIT
// How the heads of a model attend in one pass, and the part of its encoding in that.
#pragma once

#include "ordo.h"

namespace ordo::web {

struct Attention {
    // Three times [layers * heads * n * n], a row for each query: the weights (0 where masked), the scores as the
    // softmax gets them, and the scores without the encoding (NaN where masked). These are the scores of each layer
    // before the encoding acts in it. For an encoding of the input, they come from a second pass without it.
    std::vector<float> numbers;
    std::string adds; // "bias", "rotation", "input" or "nothing"
};

// Throws Error(limit) for a text of more than 512 tokens.
Attention look(const Model& model, std::span<const Token> tokens);

} // namespace ordo::web
