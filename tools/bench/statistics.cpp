// SPDX-License-Identifier: MIT
#include "tools/bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace ordo::bench {

double quantile(std::span<const double> values, double share) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Summary summarize(std::span<const double> values) {
    const auto n = static_cast<double>(values.size());
    double mean = 0, squares = 0;
    for (const double v : values) mean += v / n;
    for (const double v : values) squares += (v - mean) * (v - mean);
    return {quantile(values, 0),
            quantile(values, 0.25),
            quantile(values, 0.5),
            quantile(values, 0.75),
            quantile(values, 1),
            mean,
            values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0};
}

std::vector<double> paired_percent(std::span<const double> values, std::span<const double> references) {
    std::vector<double> percent;
    for (std::size_t i = 0; i < std::min(values.size(), references.size()); ++i)
        percent.push_back(100 * (values[i] / references[i] - 1));
    return percent;
}

std::vector<double> rates(double count, std::span<const double> seconds) {
    std::vector<double> out;
    for (const double s : seconds) out.push_back(count / s);
    return out;
}

} // namespace ordo::bench
