// SPDX-License-Identifier: MIT
// Whether a team makes short passes faster than its first thread alone. `Balance` (core/team.h) sees what a team loses
// by waiting for a processor; what its hand-overs cost no thread can see: each makes the others fetch what it has
// written, and where a pass takes fifty microseconds that is half of it. So both are tried. The same bits come of
// either.
#pragma once

#include "core/parallel.h"

#include <limits>

namespace ordo {

// Of passes that are alike and follow each other.
class Pace {
public:
    static constexpr double longest = 100e-6; // seconds; a team whose passes take longer is worth its hand-overs
    static constexpr int tries = 2;           // of a team, of which the faster counts: one wakes the others
    static constexpr int first_rest = 4, most_rest = 1024;

    // How the next pass should run.
    bool alone() const { return alone_ != trying_; }
    // What it took. After some passes comes a trial of the other way, and after one in vain eight times as many.
    void add(double seconds) {
        if (trying_)
            tried_ = std::min(tried_, seconds);
        else
            usual_ = std::min(before_, seconds); // of the last two: the other one may have been held up
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
bool restless_now(); // a Restless lives
}

// body() as a team would run it, on the calling thread.
template <class Body>
void alone(const Body& body) {
    const detail::Turn turn(1);
    const detail::Alone alone;
    body();
}

} // namespace ordo
