// SPDX-License-Identifier: MIT
// A model without positional encoding whose weights are set by hand, so that it counts.
#pragma once

#include "model/model.h"

namespace ordo::lab {

inline constexpr Token counting_start = 0; // the token that stands first; all others are alike

// One layer of attention; the logit of token 0 after t tokens is 1/t. Attention is uniform because every key
// is the same, as W_k has ones in one column and zeros elsewhere; the value is 1 for the first token and 0 for
// others. Theorem 1 of Kazemnejad et al. 2023 (arXiv 2305.19466, appendix C) starts from this.
Model counting_model(int context);

} // namespace ordo::lab
