// SPDX-License-Identifier: MIT
// Wrong and doubtful claims of introductory texts on positional encoding, each with the fact and this run's figures.
#pragma once

#include "tools/lab/lab.h"

#include <map>

namespace ordo::lab {

extern const std::string_view errata_claims; // errata_claims.cpp describes the format

// The figures that fill a claim's sentences, as text, by the claim's number.
using Values = std::vector<std::string>;
std::map<int, Values> evidence_of_tables(const Request& request);      // the sinusoidal table
std::map<int, Values> evidence_of_attention(const Request& request);   // rotary, ALiBi, the attention layer
std::map<int, Values> evidence_of_experiments(const Request& request); // the study's experiments and encodings

} // namespace ordo::lab
