// SPDX-License-Identifier: MIT
// The progress of a run on stderr. On a terminal it is a bar. Elsewhere it is a line for each held-out loss, and before
// the first of them a line with the expected duration.
#pragma once

#include "core/timer.h"
#include "tools/terminal/live_line.h"

#include <cstdint>
#include <optional>
#include <string>

namespace ordo::train {

struct TrainingFigures {
    std::int64_t step = 0, steps = 0;
    double loss = 0;
    std::optional<double> held_out; // none before the first evaluation
    double rate = 0;                // tokens a second
    double seconds_left = 0;
};

// At most `columns` columns. The least important parts are dropped if there is no room.
std::string bar_text(const TrainingFigures& figures, int columns);

class TrainingProgress {
public:
    explicit TrainingProgress(bool shown) : shown_(shown), line_(shown) {}
    // Call after each step. The bar is drawn at most ten times a second.
    void step(std::int64_t step, std::int64_t steps, std::int64_t step_tokens, double loss);
    // Sets the last held-out loss when a run resumes.
    void know(double held_out) { figures_.held_out = held_out; }
    // Call after each evaluation.
    void evaluated(std::int64_t step, std::int64_t steps, double loss, double held_out);
    // Call during a long evaluation.
    void evaluating(std::int64_t done, std::int64_t windows);
    // The rate of this process since its first step; 0 before.
    double tokens_per_second() const { return figures_.rate; }

private:
    bool due(Clock::time_point now);
    void say(); // prints the figures as a line if there is no bar

    bool shown_;
    bool said_ = false;
    tools::LiveLine line_;
    std::int64_t first_step_ = -1;
    Clock::time_point start_, drawn_;
    TrainingFigures figures_;
};

} // namespace ordo::train
