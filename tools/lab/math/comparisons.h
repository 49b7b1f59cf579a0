// SPDX-License-Identifier: MIT
// Many means compared at once: the spread that groups of runs share, and critical values that hold for all
// comparisons together.
#pragma once

#include "tools/lab/math/numbers.h"

namespace ordo::lab {

// The spread of single values around the means of their groups.
struct Spread {
    double deviation = std::nan(""); // NaN: no group has two values
    int degrees = 0, groups = 0;     // of freedom; groups of two values or more
    double p = std::nan("");         // of Bartlett's test that these groups spread alike; NaN: fewer than two of them
};
// Pooled over the groups. Bartlett 1937, Proceedings of the Royal Society A 160, 268-282.
Spread pooled_spread(std::span<const Vector> groups);

// The probability that a value of the chi-square distribution exceeds x.
double chi_square_above(double x, int degrees);
// The probability that Student's |t| exceeds |t|.
double student_beyond(double t, int degrees);

// Dunnett 1955, Journal of the American Statistical Association 50, 1096-1121: k means of n_i runs each against one
// control of n_0 runs, all with one pooled spread. weights: of each comparison sqrt(n_i / (n_i + n_0)); two
// comparisons correlate by the product of theirs. The probability that the largest of the |t| stays below t, by
// numerical integration, and the t for which it is 0.95.
double dunnett_within(double t, std::span<const double> weights, int degrees);
double dunnett_critical(std::span<const double> weights, int degrees);

// Adjusted probabilities, in the order given: a value below 0.05 is decided, with a chance of one error among all
// of 5 % at most. Holm 1979, Scandinavian Journal of Statistics 6, 65-70.
Vector holm(const Vector& p);

} // namespace ordo::lab
