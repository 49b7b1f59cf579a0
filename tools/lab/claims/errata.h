// SPDX-License-Identifier: MIT
// Wrong and doubtful claims of introductory texts on positional encoding, each with the fact and this run's figures.
#pragma once

#include "tools/lab/study/prelude.h"

namespace ordo::lab {

extern const std::string_view errata_claims; // errata_claims.cpp describes the format

// The figures that fill a claim's sentences, as text, by the claim's number.
using Values = std::vector<std::string>;
std::map<int, Values> evidence_of(const Request& request);
std::map<int, Values> trained_evidence(const Request& request); // a part of it

} // namespace ordo::lab
