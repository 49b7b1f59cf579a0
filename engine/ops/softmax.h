// SPDX-License-Identifier: MIT
// Softmax over the part of a row that a mask leaves visible.
#pragma once

namespace ordo {

// row[j] = exp(row[j]) / sum of exp over [first, last) for j in [first, last), 0 elsewhere in [0, n).
// first < last; what stands in the hidden part is never read. Runs on the calling thread.
void softmax_row(int n, int first, int last, float* row);

} // namespace ordo
