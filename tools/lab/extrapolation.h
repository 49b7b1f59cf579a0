// SPDX-License-Identifier: MIT
// What models did at several lengths, and what was expected of them.
#pragma once

#include "tools/lab/trained.h"
#include "tools/scores.h"

#include <map>

namespace ordo::lab {

struct Extrapolation {
    std::string name, encoding; // of the file; of the encoding, its parameters apart
    int context = 0;            // trained
    int refused = 0;            // the first length that the encoding refuses; 0: none
    // Nats of each token scored, by length: the same tokens in the same order at every length.
    std::map<int, std::vector<double>> whole, last;
    // Of the whole windows of the greatest length, by position in the window.
    int longest = 0;
    std::vector<tools::Tally> positions;
};

// Writes what was expected, whether it came so, and the published figures.
void judge(std::span<const Extrapolation> all, Result& result);

} // namespace ordo::lab
