// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace ordo {

// The learning rate over a run: it rises in a line over the warm-up, then falls along half a cosine (Loshchilov and Hutter
// 2017, arXiv 1608.03983).
struct Schedule {
    double peak = 0;
    double least = 0.1; // what it falls to, as a share of the peak
    std::int64_t steps = 0, warmup = 1;

    double operator()(std::int64_t step) const {
        const std::int64_t rise = std::max<std::int64_t>(1, warmup);
        if (step < rise) return peak * static_cast<double>(step + 1) / static_cast<double>(rise);
        const double progress =
            static_cast<double>(step - rise) / static_cast<double>(std::max<std::int64_t>(1, steps - rise));
        return peak * (least + (1 - least) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
    }
};

} // namespace ordo
