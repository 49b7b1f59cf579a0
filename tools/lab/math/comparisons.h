// SPDX-License-Identifier: MIT
// Compares many means at once: the pooled spread of groups of runs, and critical values for all comparisons together.
#pragma once

#include "tools/lab/math/numbers.h"

namespace ordo::lab {

// The spread of single values around the means of their groups.
struct Spread {
    double deviation = std::nan(""); // NaN: no group has two values
    int degrees = 0, groups = 0;     // of freedom; groups of two values or more
    double p = std::nan("");         // of Bartlett's test of equal spread; NaN: fewer than two of these groups
};
// Pooled over the groups. Bartlett 1937, Proceedings of the Royal Society A 160, 268-282.
Spread pooled_spread(std::span<const Vector> groups);

// The probability that a value of the chi-square distribution exceeds x.
double chi_square_above(double x, int degrees);
// The probability that Student's |t| exceeds |t|.
double student_beyond(double t, int degrees);

// Dunnett 1955, Journal of the American Statistical Association 50, 1096-1121: k means of n_i runs each against one
// control of n_0 runs, all with one pooled spread. The weight of a comparison is sqrt(n_i / (n_i + n_0)); the
// correlation of two comparisons is the product of their weights. Returns the probability that the largest |t| stays
// below t, by numerical integration, and the t for which it is 0.95.
double dunnett_within(double t, std::span<const double> weights, int degrees);
double dunnett_critical(std::span<const double> weights, int degrees);

// Adjusted probabilities, in the given order. A value below 0.05 is decided; the chance of any error among all is at
// most 5 %. Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
Vector holm(const Vector& p);

} // namespace ordo::lab
