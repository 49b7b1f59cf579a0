// SPDX-License-Identifier: MIT
#pragma once

#include "training/parameters.h"

namespace ordo {

struct StepSize {
    double lr, weight_decay, clip;
};

// AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101); the decay is applied to matrices and not to vectors.
class Optimizer {
public:
    static constexpr double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;

    explicit Optimizer(Parameters& parameters);
    // Updates the parameters from their gradients, scaled down to a global norm of clip if it is
    // larger. Returns the norm before. Changes nothing if it is not finite.
    double step(const StepSize& size);

    std::span<float> first_moments() { return m_; }
    std::span<float> second_moments() { return v_; }
    std::int64_t steps = 0;

private:
    Parameters& parameters_;
    Buffer<float> m_, v_;
};

} // namespace ordo
