// SPDX-License-Identifier: MIT
// The progress bar and the log of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace ordo::train {

class Progress {
public:
    explicit Progress(bool shown) : shown_(shown) {}
    // Redraws the bar on stderr, at most ten times a second.
    void show(std::int64_t step, std::int64_t steps, std::int64_t step_tokens, double loss, double validation_loss);
    void end();
    // Of this process, since its first step; 0 before.
    double tokens_per_second() const { return rate_; }

private:
    using Clock = std::chrono::steady_clock;
    bool shown_;
    std::int64_t first_step_ = -1;
    Clock::time_point start_, drawn_;
    double rate_ = 0;
};

std::string csv_header();
std::string csv_row(std::int64_t step, std::int64_t tokens, double lr, double loss, double grad_norm, double rate);
std::string csv_validation(std::int64_t step, std::int64_t tokens, double validation_loss);

} // namespace ordo::train
