// SPDX-License-Identifier: MIT
#include "tools/train/progress.h"

#include <cstdio>
#include <string>

namespace ordo::train {

void Progress::show(std::int64_t step, std::int64_t steps, std::int64_t step_tokens, double loss,
                    double validation_loss) {
    const auto now = Clock::now();
    if (first_step_ < 0) { // the first step warms up and is not counted
        first_step_ = step;
        start_ = drawn_ = now;
        return;
    }
    const double seconds = std::chrono::duration<double>(now - start_).count();
    rate_ = static_cast<double>((step - first_step_) * step_tokens) / seconds;
    if (!shown_ || (step < steps && now - drawn_ < std::chrono::milliseconds(100))) return;
    drawn_ = now;
    begun_ = true;
    static constexpr int width = 30;
    const int done = static_cast<int>(width * step / steps);
    const auto left = static_cast<long>(static_cast<double>((steps - step) * step_tokens) / rate_);
    std::string bar(static_cast<std::size_t>(done), '#');
    bar.resize(width, '.');
    std::fprintf(stderr, "\r[%s] %lld/%lld  loss %.3f  held-out %.3f  %.0f tokens/s  %ld:%02ld left ", bar.c_str(),
                 static_cast<long long>(step), static_cast<long long>(steps), loss, validation_loss, rate_, left / 60,
                 left % 60);
    std::fflush(stderr);
}

Progress::~Progress() {
    if (begun_) std::fputc('\n', stderr);
}

} // namespace ordo::train
