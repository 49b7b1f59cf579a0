// SPDX-License-Identifier: MIT
// Decides whether short passes run faster on a team or on its first thread alone. `Balance` (core/team.h) measures the
// time that a team loses by waiting for a processor. No thread can measure the cost of hand-overs: each thread makes
// the others fetch the data that it has written. In a pass of fifty microseconds that is half of the time. So both ways
// are tried. Both give the same bits. The trials also tell how long one thread takes, so that the stalls of teams are
// weighed against their real gain: two threads of a small model are one and a half times as fast as one, not twice.
#pragma once

#include "core/parallel.h"

#include <limits>

namespace ordo {

// For similar passes that follow each other.
class Pace {
public:
    static constexpr double longest = 1e-3; // seconds; teams with longer passes are worth their hand-overs
    static constexpr int tries = 2;         // passes of a trial; the fastest counts, as the first wakes threads
    static constexpr int first_rest = 4, most_rest = 1024;

    // Whether the next pass should run on one thread.
    bool alone() const { return rests_ || alone_ != trying_; }
    // Adds the time of a pass. After some passes the other way is tried, and after a trial in vain, eight times as
    // many.
    void add(double seconds) {
        now_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
        if (!rests_) compare(seconds);
        rests_ = !balance_.pays(now_);
    }

private:
    void compare(double seconds) {
        if (!alone() && single_ < std::numeric_limits<double>::infinity()) balance_.add(now_, single_ - seconds);
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
    void begin_trial() {
        trying_ = alone_ || usual_ <= longest;
        left_ = trying_ ? tries : 1;
        tried_ = std::numeric_limits<double>::infinity();
    }
    void settle() {
        trying_ = false;
        single_ = alone_ ? usual_ : tried_;
        const bool better = tried_ < 0.95 * usual_;
        alone_ = alone_ != better;
        rest_ = better ? first_rest : std::min(8 * rest_, most_rest);
        left_ = rest_;
    }

    bool alone_ = false, trying_ = false;
    int rest_ = first_rest, left_ = first_rest;
    double before_ = std::numeric_limits<double>::infinity(), usual_ = before_, tried_ = before_;
    double single_ = before_;       // of a pass on one thread
    detail::Balance balance_{2e-3}; // half of the loss that other teams may make: a text may last 30 ms
    Clock::time_point now_{};       // of a clock that runs during passes
    bool rests_ = false;
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
