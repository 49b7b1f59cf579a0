// SPDX-License-Identifier: MIT
// The time and the memory of a training step of two models, in turns.
#pragma once

#include "tools/lab/study/prelude.h"
#include "tools/lab/study/small_models.h"

namespace ordo::lab {

struct TimedModel {
    Recipe recipe;
    std::string encoding;
};
struct StepCosts {
    double milliseconds[2]; // medians of processor time on one thread
    double mebibytes[2];    // of a trainer after its first step
    Mean log_ratio;         // of the first time over the second, over pairs of consecutive steps
};
// Alternates the two, so that other load on the machine affects both.
StepCosts measure_steps(const std::array<TimedModel, 2>& models, int steps, const Request& request);

} // namespace ordo::lab
