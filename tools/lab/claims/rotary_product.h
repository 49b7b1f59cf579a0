// SPDX-License-Identifier: MIT
// Rotary scores as products of matrices: R_i^T R_j, and with the projections x_i^T W_q^T R W_k x_j.
// Su et al. 2021, RoFormer, arXiv 2104.09864, section 3.4.2.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// The largest differences of R_i^T R_j from R_(j-i) and from R_(i-j): a row (i, j, forward, backward) for each of some i
// and j. Width 128, in double.
void rotation_products(tools::Figures& figures);

// A score (R_i W_q x_i) . (R_j W_k x_j) of random x and W, and the errors of three products: x_i^T W_q^T R_(j-i) W_k x_j;
// W_q for W_q^T, as printed in a paper; R_(i-j). A row (i, j, score, and these) for each of some i and j. Width 8.
void score_products(std::uint64_t seed, tools::Figures& figures);

} // namespace ordo::lab
