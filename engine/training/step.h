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

// Replaces the mean of the loss and of the gradients by that over several processes; returns the former.
using ShareGradients = std::function<double(double loss, std::span<float> gradients)>;

// The network and the optimiser have the same parameters. Changes nothing but gradients if the step is not finite.
TrainingStep take_step(Network& network, Optimizer& optimizer, const Sequences& batch, const StepSize& size,
                       const Dropout& dropout = {}, const ShareGradients& share = {});

} // namespace ordo
