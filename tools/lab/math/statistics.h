// SPDX-License-Identifier: MIT
// What a handful of runs says of the mean that many would have.
#pragma once

#include <span>

namespace ordo::lab {

// The point that Student's t distribution stays below with the given probability; degrees of freedom >= 1.
double t_quantile(double probability, int degrees);

struct Mean {
    double mean = 0;
    double half = 0; // the 95 % confidence interval is mean - half .. mean + half; NaN for a single value
    double low() const { return mean - half; }
    double high() const { return mean + half; }
};
// Of at least one value, by the t distribution.
Mean mean_of(std::span<const double> values);

} // namespace ordo::lab
