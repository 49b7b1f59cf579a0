// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace ordo {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Work>
double seconds_of(const Work& work) {
    const Clock::time_point start = Clock::now();
    work();
    return seconds_since(start);
}

} // namespace ordo
