// SPDX-License-Identifier: MIT
#include "training/step.h"

#include <algorithm>
#include <limits>

namespace ordo {

TrainingStep take_step(Network& network, Optimizer& optimizer, const Sequences& batch, const StepSize& size,
                       const Dropout& dropout, const ShareGradients& share) {
    const std::span<float> gradients = optimizer.parameters().grads();
    std::fill(gradients.begin(), gradients.end(), 0.0f);
    TrainingStep step{network.loss_and_grad(batch, dropout), std::numeric_limits<double>::quiet_NaN()};
    if (share) step.loss = share(step.loss, gradients);
    if (std::isfinite(step.loss)) step.gradient_norm = optimizer.step(size);
    return step;
}

void multiply_pairs(Network& network, Optimizer& optimizer) {
    network.multiply_pairs();
    optimizer.multiply_pairs();
}

} // namespace ordo
