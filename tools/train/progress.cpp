// SPDX-License-Identifier: MIT
#include "tools/train/progress.h"

#include "tools/terminal/output.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace ordo::train {
namespace {

using tools::fixed_text;

constexpr std::int64_t steps_before_estimate = 10;

struct Piece {
    std::string text;
    int worth; // the part with the lowest worth is dropped first
};

std::string joined(const std::vector<Piece>& parts) {
    return std::accumulate(parts.begin(), parts.end(), std::string(), [](const std::string& before, const Piece& part) {
        return before.empty() ? part.text : before + "  " + part.text;
    });
}

} // namespace

std::string bar_text(const TrainingFigures& f, int columns) {
    std::vector<Piece> parts{{std::to_string(f.step) + "/" + std::to_string(f.steps), 5},
                             {"loss " + fixed_text(f.loss, 3), 3}};
    if (f.held_out) parts.push_back({"held-out " + fixed_text(*f.held_out, 3), 2});
    parts.push_back({fixed_text(f.rate, 0) + " tokens/s", 1});
    parts.push_back({tools::left_text(f.seconds_left), 4});
    const auto room = static_cast<std::size_t>(std::max(columns, 0));
    const auto worth_less = [](const Piece& a, const Piece& b) { return a.worth < b.worth; };
    while (parts.size() > 1 && joined(parts).size() > room)
        parts.erase(std::min_element(parts.begin(), parts.end(), worth_less));
    const std::string text = joined(parts);
    constexpr std::size_t longest = 30, shortest = 8, frame = 3; // [bar] and a space
    if (text.size() + frame + shortest > room) return text.substr(0, room);
    const std::size_t length = std::min(longest, room - frame - text.size());
    std::string bar(length * static_cast<std::size_t>(f.step) / static_cast<std::size_t>(f.steps), '#');
    bar.resize(length, '.');
    return "[" + bar + "] " + text;
}

bool TrainingProgress::due(Clock::time_point now) {
    if (!line_.active() || now - drawn_ < std::chrono::milliseconds(100)) return false;
    drawn_ = now;
    return true;
}

void TrainingProgress::step(std::int64_t step, std::int64_t steps, std::int64_t step_tokens, double loss) {
    const auto now = Clock::now();
    if (first_step_ < 0) { // the first step is a warm-up and does not count
        first_step_ = step;
        start_ = drawn_ = now;
        return;
    }
    const double seconds = std::max(1e-9, std::chrono::duration<double>(now - start_).count());
    figures_.step = step;
    figures_.steps = steps;
    figures_.loss = loss;
    figures_.rate = static_cast<double>((step - first_step_) * step_tokens) / seconds;
    figures_.seconds_left = tools::seconds_left(seconds, step - first_step_, steps - first_step_);
    if (due(now) || step == steps) line_.show(bar_text(figures_, tools::LiveLine::width()));
    if (!said_ && step - first_step_ == steps_before_estimate && step < steps) say();
}

void TrainingProgress::say() {
    if (!shown_ || line_.active()) return;
    said_ = true;
    std::string text = "step " + std::to_string(figures_.step) + "/" + std::to_string(figures_.steps) + ": loss " +
                       fixed_text(figures_.loss, 3);
    if (figures_.held_out) text += ", held-out " + fixed_text(*figures_.held_out, 3);
    if (figures_.rate > 0) text += ", " + fixed_text(figures_.rate, 0) + " tokens/s";
    if (figures_.rate > 0 && figures_.step < figures_.steps) text += ", " + tools::left_text(figures_.seconds_left);
    tools::write_message(text);
}

void TrainingProgress::evaluated(std::int64_t step, std::int64_t steps, double loss, double held_out) {
    figures_.step = step;
    figures_.steps = steps;
    figures_.loss = loss;
    figures_.held_out = held_out;
    say();
}

void TrainingProgress::evaluating(std::int64_t done, std::int64_t windows) {
    if (due(Clock::now()))
        line_.show("held-out text: " + std::to_string(done) + "/" + std::to_string(windows) + " windows");
}

} // namespace ordo::train
