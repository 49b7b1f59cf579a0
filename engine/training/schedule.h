// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace ordo {

// The learning rate over a run. It rises linearly over the warm-up, then falls along half a cosine (Loshchilov and
// Hutter 2017, arXiv 1608.03983). With a decay, it stays constant instead and falls linearly over the last steps
// (warm-up-stable-decay; Hu et al. 2024, arXiv 2404.06395, with the line of Haegele et al. 2024, arXiv 2405.18392).
struct Schedule {
    double peak = 0;
    double least = 0.1; // the rate at step `steps`, one after the last, as a fraction of the peak
    std::int64_t steps = 0, warmup = 1;
    std::int64_t decay = 0; // steps of the final fall; 0: the cosine

    double operator()(std::int64_t step) const {
        const std::int64_t rise = std::max<std::int64_t>(1, warmup);
        if (step < rise) return peak * static_cast<double>(step + 1) / static_cast<double>(rise);
        const std::int64_t falls = decay > 0 ? std::max(rise, steps - decay) : rise;
        const double progress = static_cast<double>(std::max<std::int64_t>(0, step - falls)) /
                                static_cast<double>(std::max<std::int64_t>(1, steps - falls));
        const double height = decay > 0 ? 1 - progress : 0.5 * (1 + std::cos(std::numbers::pi * progress));
        return peak * (least + (1 - least) * height);
    }
};

} // namespace ordo
