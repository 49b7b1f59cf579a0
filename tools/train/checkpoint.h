// SPDX-License-Identifier: MIT
// The state of a run that a checkpoint carries from one process to the next.
#pragma once

#include "tools/train/optimizer.h"

#include <filesystem>

namespace ordo::train {

struct State {
    std::int64_t step = 0;
    double validation_loss = 0;
    std::vector<double> losses; // of the last 50 steps
    std::int64_t log_bytes = 0; // length of the log; 0: there was none
};

// A safetensors file of f32 tensors "value", "first_moment" and "second_moment" (all parameters in
// one), with the state in its metadata. digest names the run that may continue from it.
void save_checkpoint(const std::filesystem::path& file, const std::string& digest, const State& state,
                     Parameters& parameters, Optimizer& optimizer);
// Throws Error(usage) if the checkpoint belongs to another run.
State load_checkpoint(const std::filesystem::path& file, const std::string& digest, Parameters& parameters,
                      Optimizer& optimizer);

} // namespace ordo::train
