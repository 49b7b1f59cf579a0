// SPDX-License-Identifier: MIT
// What formulas and code beside the introductory texts compute, each next to the right one, in double.
#pragma once

#include "tools/lab/numbers.h"

namespace ordo::lab {

// The sinusoidal table of a class whose exponent lost its parentheses: denominator base^(k - 1/d) for all k of
// 0 .. d - 1, a sine and a cosine of each, [rows, 2 d]. From a notebook's "Test the class".
std::vector<Vector> table_without_parentheses(int rows, int d);

// One layer of causal attention with random weights, T tokens of width d: how much the outputs of the tokens
// before the last change when the last token does, [T - 1] largest differences.
enum class HeadSplit {
    transposed, // [T, d] as [T, heads, e], then the two first axes swapped
    reshaped    // [T, d] read straight as [heads, T, e], merged as if it had been transposed
};
Vector leak(HeadSplit split, int tokens, int d, int heads, std::uint64_t seed);

// The gradient of a loss through a softmax, relative error against central differences.
struct SoftmaxGradient {
    double right = 0;         // ds = (diag(a) - a a^T) g, of a = softmax(s), g = dL/da
    double from_gradient = 0; // the same with g in the place of a
};
SoftmaxGradient softmax_gradient(int n, std::uint64_t seed);

} // namespace ordo::lab
