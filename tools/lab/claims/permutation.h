// SPDX-License-Identifier: MIT
// Does a model with random weights notice the order of the tokens before the last?
#pragma once

#include <cstdint>
#include <string>

namespace ordo::lab {

struct Permuted {
    double difference = 0; // the largest, between the logits after the last token
    double scale = 0;      // the largest logit
};
// Compares a sequence with the same sequence whose tokens before the last are permuted.
Permuted permute(const std::string& encoding, int layers, std::uint64_t seed);

} // namespace ordo::lab
