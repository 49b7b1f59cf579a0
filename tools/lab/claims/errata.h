// SPDX-License-Identifier: MIT
// Wrong and doubtful claims of introductory texts on positional encoding, each with the fact and figures.
#pragma once

#include "tools/lab/study/prelude.h"

namespace ordo::lab {

extern const std::string_view errata_claims; // errata_claims.cpp describes the format

// The figures that no other experiment has, as text, by the claim's number.
using Values = std::vector<std::string>;
std::map<int, Values> evidence_of(const Request& request);

} // namespace ordo::lab
