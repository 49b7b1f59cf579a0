// SPDX-License-Identifier: MIT
// Summaries of repeated measurements.
#pragma once

#include <span>
#include <vector>

namespace ordo::bench {

// The quantile at `share` in [0, 1], with linear interpolation between neighbours (Hyndman and Fan 1996, definition 7).
// values: at least one, in any order.
double quantile(std::span<const double> values, double share);

struct Summary {
    double min, first_quartile, median, third_quartile, max;
    double mean, deviation; // the deviation of the sample (n - 1); 0 for a single value
};
Summary summarize(std::span<const double> values);

// 100 * (values[i] / references[i] - 1) for each round i. Disturbances last longer than a round, so they affect both
// sides of a ratio and cancel. Between two medians they would not.
std::vector<double> paired_percent(std::span<const double> values, std::span<const double> references);

// count / seconds[i]
std::vector<double> rates(double count, std::span<const double> seconds);

} // namespace ordo::bench
