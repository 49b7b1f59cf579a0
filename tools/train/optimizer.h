// SPDX-License-Identifier: MIT
#pragma once

#include "tools/train/network.h"

namespace ordo::train {

struct StepSize {
    double lr, weight_decay, clip;
};

// AdamW with beta 0.9 and 0.95, epsilon 1e-8; the decay is applied to matrices and not to vectors.
class Optimizer {
public:
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

} // namespace ordo::train
