// SPDX-License-Identifier: MIT
// The state of a run that a checkpoint stores for the next process.
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
    std::int64_t evaluated = 0; // the step of the last held-out loss; 0: none yet
    double validation_loss = 0; // the loss at that step
    std::int64_t best_step = 0; // the step of the lowest held-out loss; 0: none yet
    double best_loss = 0;       // the loss at that step
    std::int64_t log_bytes = 0; // the length of the log; 0: no log
    static constexpr std::size_t kept_losses = 50;
};

// All parameters in one span, and the three spans of the same size that belong to them.
struct Floats {
    std::span<float> value, first_moment, second_moment;
    std::span<float> best; // the values at best_step; empty in a run that does not keep them
};

// A safetensors file of the Floats as f32 tensors, with the state in its metadata. "best" is present once there is a
// best step. `run` holds the conditions of the run by name, stored under "run.NAME". A run that resumes must have the
// same conditions. "sha256" is the digest of the rest of the file. First, for each other key of the metadata in order,
// come "LENGTH:TEXT" of the key and of its value. Then, for each tensor by name, come the same of its name and of its
// number of elements, and its bytes. save_checkpoint() replaces the file as a whole or not at all. It throws
// Error(failure) for a number that is not finite, before it touches the file, and Error(io).
using RunConditions = std::map<std::string, std::string, std::less<>>;
void save_checkpoint(const std::filesystem::path& file, const RunConditions& run, const State& state,
                     const Floats& floats);
// Checks everything in the file. Throws Error(model) for contents that a run of `steps` steps would not have saved.
// Throws Error(usage), naming the first different condition, if the checkpoint belongs to another run. After either
// error the content of the floats is unspecified.
State load_checkpoint(const std::filesystem::path& file, const RunConditions& run, std::int64_t steps,
                      const Floats& floats);

// Whether a file is empty or begins like a checkpoint of any version. False if it cannot be read.
bool is_checkpoint(const std::filesystem::path& file);

// The index of the first number that is not finite, or values.size().
std::size_t first_not_finite(std::span<const float> values);

} // namespace ordo::train
