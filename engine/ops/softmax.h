// SPDX-License-Identifier: MIT
// Softmax over the visible part of a row, and the cap of scores before it.
#pragma once

#include "rows.h"

namespace ordo {

// row[j] = exp(row[j]) / sum of exp over [first, last) for j in [first, last), 0 elsewhere in [0, n). first < last. If
// all scores are -inf, the row is 0. The hidden part is never read. Runs on the calling thread.
void softmax_row(int n, int first, int last, float* row);

// The same for a chunk of a row. Returns the logarithm of the sum of exp over [first, last), the relative weight of the
// chunk: -inf if all scores are.
float softmax_part(int n, int first, int last, float* row);

// x = cap * tanh(x / cap), element by element, between -cap and cap (Gemma Team 2024, arXiv 2408.00118, section 2). cap
// > 0.
void soft_cap(float cap, View x);

} // namespace ordo
