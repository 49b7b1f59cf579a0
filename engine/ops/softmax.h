// SPDX-License-Identifier: MIT
// Softmax over the part of a row that a mask leaves visible, and the cap that scores may have before.
#pragma once

#include "ordo.h"

namespace ordo {

// row[j] = exp(row[j]) / sum of exp over [first, last) for j in [first, last), 0 elsewhere in [0, n).
// first < last; what stands in the hidden part is never read. Runs on the calling thread.
void softmax_row(int n, int first, int last, float* row);

// The same of a part of a row: returns the logarithm of the sum of exp over [first, last), by which the
// parts of a row weigh against each other. Of scores that are all -inf it is -inf, and the row 0.
float softmax_part(int n, int first, int last, float* row);

// x = cap * tanh(x / cap), element by element: within -cap .. cap (Gemma Team 2024, arXiv 2408.00118,
// section 2). cap > 0.
void soft_cap(float cap, View x);

} // namespace ordo
