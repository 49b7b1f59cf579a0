// SPDX-License-Identifier: MIT
// Estimates from a few runs: the mean that many runs would have, and the verdicts that follow.
#pragma once

#include "tools/lab/math/numbers.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace ordo::lab {

// The quantile of Student's t distribution; degrees of freedom >= 1.
double t_quantile(double probability, int degrees);
// Half the 95 % interval for a standard error; NaN without a degree of freedom.
inline double half_of(double error, int degrees) {
    return degrees > 0 ? t_quantile(0.975, degrees) * error : std::nan("");
}
// P(|T| <= t) of the same distribution.
double student_within(double t, int degrees);

// A 95 % confidence interval; NaN if there are too few values.
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
// The mean of at least one value, by the t distribution.
Mean mean_of(std::span<const double> values);
// The mean over all values of clusters that are drawn as wholes, such as the tokens of documents. Its error is that of
// a ratio estimator: it compares the clusters' sums with the sums that the mean predicts (Cochran 1977, Sampling
// Techniques, section 6.4). Student's t has one degree of freedom less than there are clusters. Both spans have one
// length.
Mean mean_of_clusters(std::span<const double> values, std::span<const int> clusters);
// The same from sums over clusters of `counts` values; and its standard error.
Mean mean_of_sums(std::span<const double> sums, std::span<const double> counts);
double error_of_sums(std::span<const double> sums, std::span<const double> counts);

// A probability of which `right` of `of` trials came true: Wilson's score interval (Wilson 1927), which stays in
// [0, 1]. of >= 1.
Interval wilson(std::int64_t right, std::int64_t of);

// The mean of proportions in [0, 1], one for each run.
struct Share {
    double mean = 0;
    Interval interval; // in [0, 1]; unknown for a single run
};
// Wilson's interval for the number of trials that would spread as much as the runs do, at most the actual number, with
// Student's quantile (Kott, Andersson and Nerman 2001). trials: of each run; infinite if a proportion is not a count.
Share share_of(std::span<const double> shares, double trials = std::numeric_limits<double>::infinity());

// The verdict of an interval on a claim, in order: of several cases of one claim, the largest verdict counts.
enum class Verdict { untested, held, undecided, missed };
Verdict above(const Interval& interval, double bound); // whether the value is above
Verdict below(const Interval& interval, double bound);
Verdict between(const Interval& interval, double least, double most);
const char* name_of(Verdict verdict);
// Of the opposite claim.
inline Verdict opposite(Verdict verdict) {
    return verdict == Verdict::held ? Verdict::missed : verdict == Verdict::missed ? Verdict::held : verdict;
}
inline const char* worded(Verdict verdict, const char* held, const char* missed, const char* undecided) {
    return verdict == Verdict::held ? held : verdict == Verdict::missed ? missed : undecided;
}

// Cells of a table: the ends of an interval, a mean and its half, a proportion and its interval.
inline void put(std::vector<Cell>& row, const Interval& interval) {
    put(row, interval.low), put(row, interval.high);
}
inline void put(std::vector<Cell>& row, const Mean& mean) {
    put(row, mean.mean), put(row, mean.half);
}
inline void put(std::vector<Cell>& row, const Share& share) {
    put(row, share.mean), put(row, share.interval);
}

} // namespace ordo::lab
