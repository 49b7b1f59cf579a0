// SPDX-License-Identifier: MIT
#include "tools/lab/math/comparisons.h"

#include "tools/lab/math/statistics.h"

#include <map>

namespace ordo::lab {
namespace {

double normal_below(double z) {
    return std::erfc(-z / std::numbers::sqrt2) / 2;
}

// Simpson's rule.
template <class F>
double integral(double low, double high, int steps, const F& f) {
    const double h = (high - low) / steps;
    double sum = f(low) + f(high);
    for (int i = 1; i < steps; ++i) sum += (i % 2 == 0 ? 2 : 4) * f(low + i * h);
    return sum * h / 3;
}

// The number of comparisons with each weight.
using Weights = std::map<double, int>;

// P(|z_i| <= bound for all i), for normal z_i = weight_i z_0 + sqrt(1 - weight_i^2) e_i.
double all_within(double bound, const Weights& weights) {
    return integral(-6, 6, 48, [&](double z) {
        double product = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
        for (const auto& [weight, count] : weights) {
            const double rest = std::sqrt(1 - weight * weight);
            product *=
                std::pow(normal_below((weight * z + bound) / rest) - normal_below((weight * z - bound) / rest), count);
        }
        return product;
    });
}

} // namespace

// Groups i = 1 .. k have n_i values and variances s_i^2; s^2 is pooled, and v = sum (n_i - 1). Nearly chi-square with
// k - 1 degrees: (v ln s^2 - sum (n_i - 1) ln s_i^2) / (1 + (sum 1 / (n_i - 1) - 1 / v) / (3 (k - 1))).
Spread pooled_spread(std::span<const Vector> groups) {
    Spread out;
    double squares = 0, logs = 0, inverses = 0;
    for (const Vector& values : groups) {
        if (values.size() < 2) continue;
        const double n = static_cast<double>(values.size()) - 1, variance = std::pow(sample_of(values).deviation(), 2);
        ++out.groups;
        out.degrees += static_cast<int>(values.size()) - 1;
        squares += n * variance;
        logs += n * std::log(variance);
        inverses += 1 / n;
    }
    if (out.groups == 0) return out;
    const double v = out.degrees, pooled = squares / v;
    out.deviation = std::sqrt(pooled);
    if (out.groups < 2 || pooled == 0) return out;
    const double k = out.groups, correction = 1 + (inverses - 1 / v) / (3 * (k - 1));
    out.p = chi_square_above((v * std::log(pooled) - logs) / correction, out.groups - 1);
    return out;
}

// Finite sums (Abramowitz and Stegun 1964, 26.4.4 and 26.4.5).
double chi_square_above(double x, int degrees) {
    if (!(x > 0)) return 1;
    if (std::isinf(x)) return 0;
    const bool odd = degrees % 2 != 0;
    double sum = odd ? std::erfc(std::sqrt(x / 2)) : 0, term = std::exp(-x / 2) * (odd ? std::sqrt(x / 2) : 1);
    if (odd) term /= std::sqrt(std::numbers::pi) / 2;
    for (int j = odd ? 3 : 2; j <= degrees; j += 2) {
        sum += term;
        term *= x / j;
    }
    return sum;
}

double student_beyond(double t, int degrees) {
    return std::max(0.0, 1 - student_within(std::abs(t), degrees));
}

// The estimated spread is s times the true one, where s^2 = chi^2 / degrees. With v = degrees, s has the density
// 2 (v/2)^(v/2) / Gamma(v/2) s^(v-1) exp(-v s^2 / 2).
double dunnett_within(double t, std::span<const double> weights, int degrees) {
    Weights counts;
    for (const double weight : weights) ++counts[weight];
    const double v = degrees, width = 8 / std::sqrt(2 * v),
                 log_constant = std::log(2) + v / 2 * std::log(v / 2) - std::lgamma(v / 2);
    return integral(std::max(0.0, 1 - width), 1 + width, 160, [&](double s) {
        const double log_density = log_constant + (v > 1 ? (v - 1) * std::log(s) : 0) - v * s * s / 2;
        return std::isinf(log_density) ? 0 : std::exp(log_density) * all_within(t * s, counts);
    });
}

double dunnett_critical(std::span<const double> weights, int degrees) {
    double low = 0, high = 1;
    while (dunnett_within(high, weights, degrees) < 0.95) low = high, high *= 2;
    for (int i = 0; i < 30; ++i) {
        const double middle = (low + high) / 2;
        (dunnett_within(middle, weights, degrees) < 0.95 ? low : high) = middle;
    }
    return (low + high) / 2;
}

Vector holm(const Vector& p) {
    const std::vector<std::size_t> order = ranked(p);
    Vector adjusted(p.size());
    double least = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        least = std::max(least, std::min(1.0, p[order[i]] * static_cast<double>(order.size() - i)));
        adjusted[order[i]] = least;
    }
    return adjusted;
}

} // namespace ordo::lab
