// SPDX-License-Identifier: MIT
#include "tools/lab/math/statistics.h"

#include "tools/lab/math/numbers.h"

#include <cmath>
#include <numbers>

namespace ordo::lab {
namespace {

// P(|T| <= t) for n degrees of freedom, a finite sum (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4). With
// u = atan(t / sqrt(n)):
//   odd n:  2/pi (u + sin u (cos u + 2/3 cos^3 u + ... + (2 4 .. (n-3)) / (3 5 .. (n-2)) cos^(n-2) u)), n = 1: 2 u / pi
//   even n: sin u (1 + 1/2 cos^2 u + ... + (1 3 .. (n-3)) / (2 4 .. (n-2)) cos^(n-2) u)
double within(double t, int n) {
    const double u = std::atan(t / std::sqrt(n)), square = std::cos(u) * std::cos(u);
    const bool odd = n % 2 != 0;
    double term = odd ? std::cos(u) : 1, sum = n == 1 ? 0 : term;
    for (int k = odd ? 3 : 2; k <= n - 2; k += 2) {
        term *= square * (k - 1) / k;
        sum += term;
    }
    return odd ? 2 / std::numbers::pi * (u + std::sin(u) * sum) : std::sin(u) * sum;
}

} // namespace

double t_quantile(double probability, int degrees) {
    if (probability < 0.5) return -t_quantile(1 - probability, degrees);
    const double wanted = 2 * probability - 1;
    double low = 0, high = 1;
    while (within(high, degrees) < wanted && high < 1e300) high *= 2;
    for (int i = 0; i < 200; ++i) {
        const double middle = (low + high) / 2;
        (within(middle, degrees) < wanted ? low : high) = middle;
    }
    return (low + high) / 2;
}

Mean mean_of(std::span<const double> values) {
    Sample sample;
    for (const double v : values) sample.add(v);
    if (values.size() < 2) return {sample.mean(), std::nan("")};
    return {sample.mean(), t_quantile(0.975, static_cast<int>(values.size()) - 1) * sample.standard_error()};
}

} // namespace ordo::lab
