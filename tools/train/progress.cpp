// SPDX-License-Identifier: MIT
#include "tools/train/progress.h"

#include <cstdio>

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

void Progress::end() {
    if (shown_) std::fputc('\n', stderr);
}

std::string csv_header() {
    return "step,tokens,lr,loss,grad_norm,tokens_per_second,validation_loss\n";
}

std::string csv_row(std::int64_t step, std::int64_t tokens, double lr, double loss, double grad_norm, double rate) {
    char text[160];
    std::snprintf(text, sizeof text, "%lld,%lld,%.6g,%.5f,%.4f,%.0f,\n", static_cast<long long>(step),
                  static_cast<long long>(tokens), lr, loss, grad_norm, rate);
    return text;
}

std::string csv_validation(std::int64_t step, std::int64_t tokens, double validation_loss) {
    char text[96];
    std::snprintf(text, sizeof text, "%lld,%lld,,,,,%.5f\n", static_cast<long long>(step),
                  static_cast<long long>(tokens), validation_loss);
    return text;
}

} // namespace ordo::train
