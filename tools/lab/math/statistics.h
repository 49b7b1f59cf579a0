// SPDX-License-Identifier: MIT
// What a handful of runs says of the mean that many would have, and what that decides.
#pragma once

#include "tools/lab/math/numbers.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace ordo::lab {

// The point that Student's t distribution stays below with the given probability; degrees of freedom >= 1.
double t_quantile(double probability, int degrees);
// P(|T| <= t), the same.
double student_within(double t, int degrees);

// A 95 % confidence interval; NaN: too little is known for one.
struct Interval {
    double low = std::numeric_limits<double>::quiet_NaN(), high = low;
    bool known() const { return !std::isnan(low) && !std::isnan(high); }
};

struct Mean {
    double mean = 0;
    double half = 0; // the 95 % confidence interval is mean - half .. mean + half; NaN for a single value
    double low() const { return mean - half; }
    double high() const { return mean + half; }
    Interval interval() const { return {low(), high()}; }
};
// Of at least one value, by the t distribution.
Mean mean_of(std::span<const double> values);
// Of values in clusters that are drawn as wholes, such as tokens in documents: the mean over all values, its error by
// what the clusters' sums differ from what the mean predicts (a ratio estimator; Cochran 1977, Sampling Techniques,
// section 6.4), Student's with as many degrees of freedom as there are clusters, less one. As many of both.
Mean mean_of_clusters(std::span<const double> values, std::span<const int> clusters);
// The same of sums over clusters of so many values each; and the standard error in the place of the half.
Mean mean_of_sums(std::span<const double> sums, std::span<const double> counts);
Difference error_of_sums(std::span<const double> sums, std::span<const double> counts);

// Of a probability, where `right` of `of` trials came true: Wilson's score interval (Wilson 1927), which stays in [0,
// 1]. of >= 1.
Interval wilson(std::int64_t right, std::int64_t of);

// The mean of shares in [0, 1], one of each run.
struct Share {
    double mean = 0;
    Interval interval; // in [0, 1]; unknown for a single run
};
// Wilson's interval for as many trials as would spread as much as the runs do, but no more than there were, with
// Student's quantile (Kott, Andersson and Nerman 2001). trials: of each run; infinite where a share is no count.
Share share_of(std::span<const double> shares, double trials = std::numeric_limits<double>::infinity());

// What an interval says of a claim. In this order: of several cases of one claim the last counts.
enum class Verdict { untested, held, undecided, missed };
Verdict above(const Interval& interval, double bound); // that the value is above
Verdict below(const Interval& interval, double bound);
Verdict between(const Interval& interval, double least, double most);
const char* name_of(Verdict verdict);

} // namespace ordo::lab
