// SPDX-License-Identifier: MIT
// Formulas and code from the introductory texts, each next to the correct version, in double.
#pragma once

#include "tools/lab/math/numbers.h"

namespace ordo::lab {

// The sinusoidal table of a class whose exponent lost its parentheses: the denominator is base^(k - 1/d) for all k of 0
// .. d - 1, with a sine and a cosine each, [rows, 2 d]. From a notebook's "Test the class".
std::vector<Vector> table_without_parentheses(int rows, int d);

// One layer of causal attention, T tokens of width d. Embeddings and weights are drawn as in a study's code, with
// deviations 1/sqrt(d), 1/sqrt(d + e) and, for the output, 1/sqrt(2 d). Measures how much the outputs of the tokens
// before the last change when another token takes the last place.
enum class HeadSplit {
    transposed, // [T, d] as [T, heads, e], then the first two axes swapped
    reshaped    // [T, d] read directly as [heads, T, e], merged as if it had been transposed
};
struct Leak {
    Vector changes;       // largest difference of each of the T - 1 tokens
    double deviation = 0; // of the outputs themselves
};
Leak leak(HeadSplit split, int tokens, int d, int heads, std::uint64_t seed);

// The gradient of f at x, with steps of h.
template <class Number, class F>
Vector central_differences(const std::vector<Number>& x, Number h, const F& f) {
    Vector out;
    for (std::size_t i = 0; i < x.size(); ++i) {
        std::vector<Number> up = x, down = x;
        up[i] += h, down[i] -= h;
        out.push_back((f(up) - f(down)) / (2 * double{h}));
    }
    return out;
}

// The gradient of a loss through a softmax: relative error against central differences.
struct SoftmaxGradient {
    double right = 0;         // ds = (diag(a) - a a^T) g, where a = softmax(s) and g = dL/da
    double from_gradient = 0; // the same with g in place of a
};
SoftmaxGradient softmax_gradient(int n, std::uint64_t seed);

} // namespace ordo::lab
