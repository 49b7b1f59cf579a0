// SPDX-License-Identifier: MIT
#include "tools/lab/math/statistics.h"

#include "tools/lab/math/numbers.h"

#include <map>
#include <numeric>

namespace ordo::lab {
namespace {

constexpr double normal_975 = 1.959963984540054; // of the normal distribution

double total(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0);
}

// Wilson's interval of a proportion p of n trials, for a quantile z.
Interval score_interval(double p, double n, double z) {
    const double square = z * z / n, middle = (p + square / 2) / (1 + square);
    const double half = z / (1 + square) * std::sqrt(p * (1 - p) / n + square / (4 * n));
    return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

} // namespace

// A finite sum (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). With
// u = atan(t / sqrt(n)):
//   odd n:  2/pi (u + sin u (cos u + 2/3 cos^3 u + ... + (2 4 .. (n-3)) / (3 5 .. (n-2)) cos^(n-2) u)), n = 1: 2 u / pi
//   even n: sin u (1 + 1/2 cos^2 u + ... + (1 3 .. (n-3)) / (2 4 .. (n-2)) cos^(n-2) u)
double student_within(double t, int n) {
    const double u = std::atan(t / std::sqrt(n)), square = std::cos(u) * std::cos(u);
    const bool odd = n % 2 != 0;
    double term = odd ? std::cos(u) : 1, sum = n == 1 ? 0 : term;
    for (int k = odd ? 3 : 2; k <= n - 2; k += 2) {
        term *= square * (k - 1) / k;
        sum += term;
    }
    return odd ? 2 / std::numbers::pi * (u + std::sin(u) * sum) : std::sin(u) * sum;
}

double t_quantile(double probability, int degrees) {
    if (probability < 0.5) return -t_quantile(1 - probability, degrees);
    const double wanted = 2 * probability - 1;
    double low = 0, high = 1;
    while (student_within(high, degrees) < wanted && high < 1e300) high *= 2;
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        (student_within(middle, degrees) < wanted ? low : high) = middle;
    }
    return (low + high) / 2;
}

Mean mean_of(std::span<const double> values) {
    const Sample sample = sample_of(values);
    return {sample.mean(), half_of(sample.standard_error(), static_cast<int>(values.size()) - 1)};
}

double error_of_sums(std::span<const double> sums, std::span<const double> counts) {
    const double count = total(counts), mean = total(sums) / count, n = static_cast<double>(sums.size());
    double squares = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) squares += std::pow(sums[i] - mean * counts[i], 2);
    return n < 2 ? std::nan("") : std::sqrt(squares * n / (n - 1)) / count;
}

Mean mean_of_sums(std::span<const double> sums, std::span<const double> counts) {
    const int degrees = static_cast<int>(sums.size()) - 1;
    return {total(sums) / total(counts), half_of(error_of_sums(sums, counts), degrees)};
}

Mean mean_of_clusters(std::span<const double> values, std::span<const int> clusters) {
    std::map<int, std::pair<double, double>> all; // sum and count
    for (std::size_t i = 0; i < values.size(); ++i) {
        auto& [sum, count] = all[clusters[i]];
        sum += values[i], ++count;
    }
    Vector sums, counts;
    for (const auto& [cluster, both] : all) sums.push_back(both.first), counts.push_back(both.second);
    return mean_of_sums(sums, counts);
}

Interval wilson(std::int64_t right, std::int64_t of) {
    const auto n = static_cast<double>(of);
    return score_interval(static_cast<double>(right) / n, n, normal_975);
}

Share share_of(std::span<const double> shares, double trials) {
    const Sample sample = sample_of(shares);
    const double p = std::clamp(sample.mean(), 0.0, 1.0), error = sample.standard_error(),
                 runs = static_cast<double>(shares.size());
    if (shares.size() < 2) return {p, {}};
    const double n = std::min(trials * runs, p * (1 - p) / (error * error)); // the comparison is false for 0 / 0
    if (std::isinf(n)) return {p, {p, p}};
    return {p, score_interval(p, n, t_quantile(0.975, static_cast<int>(shares.size()) - 1))};
}

Verdict above(const Interval& interval, double bound) {
    return interval.low > bound ? Verdict::held : interval.high < bound ? Verdict::missed : Verdict::undecided;
}
Verdict below(const Interval& interval, double bound) {
    return above({-interval.high, -interval.low}, -bound);
}
Verdict between(const Interval& interval, double least, double most) {
    return std::max(above(interval, least), below(interval, most));
}

const char* name_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::held:
        return "held";
    case Verdict::missed:
        return "missed";
    case Verdict::undecided:
        return "undecided";
    case Verdict::untested:
        break;
    }
    return "not tested";
}

} // namespace ordo::lab
