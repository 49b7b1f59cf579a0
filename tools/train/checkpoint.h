// SPDX-License-Identifier: MIT
// The state of a run that a checkpoint carries from one process to the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ordo::train {

struct State {
    std::int64_t step = 0;
    double first_loss = 0;      // of step 1
    std::vector<double> losses; // of the last kept_losses steps
    std::int64_t evaluated = 0; // the step of the last held-out loss; 0: there is none yet
    double validation_loss = 0; // which was this
    std::int64_t best_step = 0; // that of the lowest held-out loss; 0: there is none yet
    double best_loss = 0;       // which was this
    std::int64_t log_bytes = 0; // length of the log; 0: there was none
    static constexpr std::size_t kept_losses = 50;
};

// All parameters in one, and what goes with each: four spans of one size.
struct Floats {
    std::span<float> value, first_moment, second_moment;
    std::span<float> best; // the values at best_step; empty in a run that does not keep them
};

// A safetensors file of the Floats as f32 tensors, "best" once there is one, with the state in its metadata.
// run says by name what decides the run, all of which has to be the same for one that goes on; it is stored under
// "run.NAME". "sha256" is that of all the file says: "LENGTH:TEXT" of each other key of the metadata and of its value,
// by key, then for each tensor, by name, the same of its name and its number of elements, and its bytes. Replaces the
// file as a whole or not at all. Throws Error(failure) for a number that is not finite, before it touches the file, and
// Error(io).
using RunConditions = std::map<std::string, std::string, std::less<>>;
void save_checkpoint(const std::filesystem::path& file, const RunConditions& run, const State& state,
                     const Floats& floats);
// Nothing in the file is trusted: throws Error(model) for whatever a run of so many steps would not have saved,
// and Error(usage), naming the first condition that differs, if the checkpoint belongs to another run. Both leave the
// floats in no particular state.
State load_checkpoint(const std::filesystem::path& file, const RunConditions& run, std::int64_t steps,
                      const Floats& floats);

// Whether a file begins as save_checkpoint() begins one, of whatever version, or is empty. False if it cannot be read.
bool is_checkpoint(const std::filesystem::path& file);

// The index of the first number that is not finite; values.size() if there is none.
std::size_t first_not_finite(std::span<const float> values);

} // namespace ordo::train
