// SPDX-License-Identifier: MIT
// The progress bar of a run.
#pragma once

#include <chrono>
#include <cstdint>

namespace ordo::train {

class Progress {
public:
    explicit Progress(bool shown) : shown_(shown) {}
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    ~Progress(); // ends the line, however the run ends: what is said next has a line of its own
    // Redraws the bar on stderr, at most ten times a second.
    void show(std::int64_t step, std::int64_t steps, std::int64_t step_tokens, double loss, double validation_loss);
    // Of this process, since its first step; 0 before.
    double tokens_per_second() const { return rate_; }

private:
    using Clock = std::chrono::steady_clock;
    bool shown_, begun_ = false;
    std::int64_t first_step_ = -1;
    Clock::time_point start_, drawn_;
    double rate_ = 0;
};

} // namespace ordo::train
