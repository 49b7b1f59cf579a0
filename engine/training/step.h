// SPDX-License-Identifier: MIT
// One step of training: the gradient of a batch, then the update of the optimiser.
#pragma once

#include "training/network.h"
#include "training/optimizer.h"

#include <cmath>
#include <functional>

namespace ordo {

struct TrainingStep {
    double loss;          // before the step, mean over the scored targets, in nats
    double gradient_norm; // before it is clipped

    bool finite() const { return std::isfinite(loss) && std::isfinite(gradient_norm); }
};

// Replaces the gradients by their mean over several processes. Returns the mean of the loss.
using ShareGradients = std::function<double(double loss, std::span<float> gradients)>;

// The network and the optimiser have the same parameters. Changes only the gradients if the step is not finite.
[[nodiscard]] TrainingStep take_step(Network& network, Optimizer& optimizer, const Sequences& batch,
                                     const StepSize& size, const Dropout& dropout = {},
                                     const ShareGradients& share = {});

// Network::multiply_pairs(); from this call on, products of Muon round to bf16, too. Throws Error(usage) if the kernels
// do not support it.
void multiply_pairs(Network& network, Optimizer& optimizer);

} // namespace ordo
