// SPDX-License-Identifier: MIT
#include "training/optimizer.h"

#include "core/parallel.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

constexpr std::ptrdiff_t block = 16384; // of the sum of squares, so that its bits do not depend on threads

double sum_of_squares(std::span<const float> x) {
    const auto n = static_cast<std::ptrdiff_t>(x.size());
    std::vector<double> partial(static_cast<std::size_t>((n + block - 1) / block));
    parallel_for(static_cast<std::ptrdiff_t>(partial.size()), 4, [&](std::ptrdiff_t b) {
        double sum = 0;
        for (std::ptrdiff_t i = b * block; i < std::min(n, (b + 1) * block); ++i) {
            const double v = x[static_cast<std::size_t>(i)];
            sum += v * v;
        }
        partial[static_cast<std::size_t>(b)] = sum;
    });
    double total = 0;
    for (const double p : partial) total += p;
    return total;
}

} // namespace

Optimizer::Optimizer(Parameters& parameters) : parameters_(parameters), m_(parameters.size()), v_(parameters.size()) {}

double Optimizer::step(const StepSize& size) {
    const double norm = std::sqrt(sum_of_squares(parameters_.grads()));
    if (!std::isfinite(norm)) return norm;
    steps += 1;
    const auto scale = static_cast<float>(norm > size.clip ? size.clip / norm : 1.0);
    const auto correction1 = static_cast<float>(1 / (1 - std::pow(beta1, static_cast<double>(steps))));
    const auto correction2 = static_cast<float>(1 / (1 - std::pow(beta2, static_cast<double>(steps))));
    for (int i = 0; i < parameters_.count(); ++i) {
        const TensorSpec& spec = parameters_.specs()[static_cast<std::size_t>(i)];
        if (!spec.trainable) continue;
        const View w = parameters_.value(i), g = parameters_.grad(i);
        const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(w.rows) * w.cols,
                             offset = w.data - parameters_.values().data();
        const auto decay = static_cast<float>(spec.shape.size() > 1 ? size.weight_decay : 0);
        parallel_for((n + block - 1) / block, 2, [&](std::ptrdiff_t b) {
            const std::ptrdiff_t at = b * block;
            kernels().adamw(static_cast<int>(std::min(block, n - at)), w.data + at, g.data + at,
                            m_.data() + offset + at, v_.data() + offset + at, scale, static_cast<float>(size.lr), beta1,
                            beta2, epsilon, decay, correction1, correction2);
        });
    }
    return norm;
}

} // namespace ordo
