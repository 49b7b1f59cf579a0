// SPDX-License-Identifier: MIT
#include "text/allowance.h"

#include "core/error.h"

#include <ctime>

namespace ordo {
namespace {

// NFKC expands one character by a factor of up to 11. Published tokenizers expand a whole text by at most 5.
constexpr std::size_t growth_per_byte = 31, least_growth = std::size_t{1} << 16;
// A published pattern backtracks through a run of blanks once or twice.
constexpr std::uint64_t steps_per_byte = 64, least_steps = std::uint64_t{1} << 24;
// GPT-2's pattern takes 0.02 s a MiB.
constexpr double seconds_per_byte = 2.0 / (1 << 20), least_seconds = 1;

double thread_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double most_seconds(std::size_t bytes) {
    return seconds_per_byte * static_cast<double>(bytes) + least_seconds;
}

} // namespace

Allowance::Allowance(std::string_view what, std::size_t bytes)
    : what_(what), bytes_(bytes), growth_(growth_per_byte * bytes + least_growth),
      steps_(steps_per_byte * bytes + least_steps), begin_(thread_seconds()),
      next_look_(std::chrono::steady_clock::now()) {}

void Allowance::refuse_growth(std::size_t by) const {
    const std::size_t most = bytes_ + growth_per_byte * bytes_ + least_growth;
    fail(ErrorCode::limit, what_, ": expected ", bytes_, " bytes to become at most ", most, ", found ",
         most - growth_ + by);
}

void Allowance::step(std::uint64_t n, std::string_view where) {
    if (n > steps_)
        fail(ErrorCode::limit, where, ": a pattern on a text of ", bytes_, " bytes: expected at most ",
             steps_per_byte * bytes_ + least_steps, " steps, found more");
    steps_ -= n;
}

// Reading the processor's clock is a system call, so it happens at most 50 times a second.
bool Allowance::is_late() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return false;
    next_look_ = now + std::chrono::milliseconds(20);
    return thread_seconds() - begin_ > most_seconds(bytes_);
}

void Allowance::refuse_time(std::string_view where) const {
    fail(ErrorCode::limit, where, ": a text of ", bytes_, " bytes: expected at most ", most_seconds(bytes_),
         " seconds of work, found more");
}

} // namespace ordo
