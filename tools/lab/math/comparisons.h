// SPDX-License-Identifier: MIT
// Compares many means of a few runs each, without the assumption that all groups of runs spread alike.
#pragma once

#include "tools/lab/math/numbers.h"

namespace ordo::lab {

// The spread of single values around the means of their groups.
struct Spread {
    double deviation = std::nan(""); // NaN: no group has two values
    int degrees = 0, groups = 0;     // of freedom; groups of two values or more
};
// Pooled over the groups.
Spread pooled_spread(std::span<const Vector> groups);

// A squared standard error and its degrees of freedom.
struct ErrorPart {
    double square = std::nan(""), degrees = 0;
};
// The error of a group's mean. Its variance is its own or the pooled one, whichever is larger: two or three values
// often lie close together by chance. Its degrees of freedom are its own and four more, at most those of the pooled
// spread: another group's spread says that much about this one's. With four, intervals hold if the groups' spreads
// differ as the square roots of inverse chi-square values with four degrees of freedom do.
ErrorPart error_of_mean(const Vector& values, const Spread& pooled);
inline constexpr int borrowed_degrees = 4;
// The degrees of freedom of a sum of parts (Satterthwaite 1946, Biometrics Bulletin 2, 110-114), at least 1.
int satterthwaite(std::span<const ErrorPart> parts);

// The probability that Student's |t| exceeds |t|; not below 1e-12, where rounding decides.
double student_beyond(double t, int degrees);
// Bonferroni's correction for a number of comparisons: each value, interval and probability below is that of one
// comparison, and the chance of any error among all is at most 5 %.
double critical(int degrees, std::size_t comparisons);           // |t| of an interval
double critical_one_sided(int degrees, std::size_t comparisons); // t

} // namespace ordo::lab
