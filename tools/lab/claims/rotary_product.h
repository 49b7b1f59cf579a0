// SPDX-License-Identifier: MIT
// Rotary scores as products of matrices: R_i^T R_j, and with the projections x_i^T W_q^T R W_k x_j.
// Su et al. 2021, RoFormer, arXiv 2104.09864, section 3.4.2.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

struct RotationProducts {
    double forward = 0, backward = 0; // the largest differences of R_i^T R_j from R_(j-i) and from R_(i-j)
};
// Tests some i and j: a row of the table (i, j, forward, backward) for each. Width 128, in double.
RotationProducts rotation_products(tools::Figures& figures);

// A score (R_i W_q x_i) . (R_j W_k x_j), and its difference from each of three products:
struct ScoreProducts {
    double corrected = 0, printed = 0, other_sign = 0; // x_i^T W_q^T R_(j-i) W_k x_j; W_q for W_q^T; R_(i-j)
    double largest = 0;                                // the largest score
};
// The same with random x and W: a row (i, j, score, corrected, printed, other sign) for each. Width 8, in double.
ScoreProducts score_products(std::uint64_t seed, tools::Figures& figures);

} // namespace ordo::lab
