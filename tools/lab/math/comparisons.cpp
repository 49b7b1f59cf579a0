// SPDX-License-Identifier: MIT
#include "tools/lab/math/comparisons.h"

#include "tools/lab/math/statistics.h"

namespace ordo::lab {

Spread pooled_spread(std::span<const Vector> groups) {
    Spread out;
    double squares = 0;
    for (const Vector& values : groups) {
        if (values.size() < 2) continue;
        const int degrees = static_cast<int>(values.size()) - 1;
        ++out.groups;
        out.degrees += degrees;
        squares += degrees * std::pow(sample_of(values).deviation(), 2);
    }
    if (out.groups > 0) out.deviation = std::sqrt(squares / out.degrees);
    return out;
}

ErrorPart error_of_mean(const Vector& values, const Spread& pooled) {
    const double n = static_cast<double>(values.size());
    const double own = values.size() < 2 ? 0 : sample_of(values).deviation();
    return {std::pow(std::max(own, pooled.deviation), 2) / n,
            std::min<double>(pooled.degrees, borrowed_degrees + n - 1)};
}

int satterthwaite(std::span<const ErrorPart> parts) {
    double sum = 0, squares = 0;
    for (const ErrorPart& part : parts) sum += part.square, squares += part.square * part.square / part.degrees;
    return squares > 0 ? static_cast<int>(std::clamp(sum * sum / squares, 1.0, 1e6)) : 1;
}

double student_beyond(double t, int degrees) {
    return std::max(1e-12, 1 - student_within(std::abs(t), degrees));
}

double critical(int degrees, std::size_t comparisons) {
    return t_quantile(1 - 0.025 / static_cast<double>(comparisons), degrees);
}

double critical_one_sided(int degrees, std::size_t comparisons) {
    return t_quantile(1 - 0.05 / static_cast<double>(comparisons), degrees);
}

} // namespace ordo::lab
