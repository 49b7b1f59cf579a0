// SPDX-License-Identifier: MIT
// Decides whether short passes run faster on a team or on its first thread alone. `Balance` (core/team.h) measures the
// time that a team loses by waiting for a processor. No thread can measure the cost of hand-overs: each thread makes
// the others fetch the data that it has written. In a pass of fifty microseconds that is half of the time. So both ways
// are tried. Both give the same bits.
#pragma once

#include "core/parallel.h"

#include <limits>

namespace ordo {

// For similar passes that follow each other.
class Pace {
public:
    static constexpr double longest = 100e-6; // seconds; teams with longer passes are worth their hand-overs
    static constexpr int tries = 2;           // passes of a team; the fastest counts, as the first wakes threads
    static constexpr int first_rest = 4, most_rest = 1024;

    // Whether the next pass should run on one thread.
    bool alone() const { return alone_ != trying_; }
    // Adds the time of a pass. After some passes the other way is tried, and after a trial in vain, eight times as
    // many.
    void add(double seconds) {
        if (trying_)
            tried_ = std::min(tried_, seconds);
        else
            usual_ = std::min(before_, seconds); // of the last two, as the other may have been delayed
        before_ = seconds;
        if (--left_ > 0) return;
        if (trying_)
            settle();
        else
            begin_trial();
    }

private:
    void begin_trial() {
        trying_ = alone_ || usual_ <= longest;
        left_ = trying_ && alone_ ? tries : 1;
        tried_ = std::numeric_limits<double>::infinity();
    }
    void settle() {
        trying_ = false;
        const bool better = tried_ < 0.95 * usual_;
        alone_ = alone_ != better;
        rest_ = better ? first_rest : std::min(8 * rest_, most_rest);
        left_ = rest_;
    }

    bool alone_ = false, trying_ = false;
    int rest_ = first_rest, left_ = first_rest;
    double before_ = std::numeric_limits<double>::infinity(), usual_ = before_, tried_ = before_;
};

namespace detail {
bool restless_now(); // whether a Restless lives
}

// Calls body() on the calling thread, as a team would.
template <class Body>
void alone(const Body& body) {
    const detail::Turn turn(1);
    const detail::Alone alone;
    body();
}

} // namespace ordo
