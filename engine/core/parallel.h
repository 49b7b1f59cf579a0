// SPDX-License-Identifier: MIT
// Loops over the threads of OpenMP. The caller sets their number (omp_set_num_threads). The result of an index depends
// on neither the number of threads nor the thread that computes it. core/team.h has the threads.
#pragma once

#include "core/team.h"

#include <exception>
#include <functional>
#include <vector>

namespace ordo {

// Runs body() on every thread of one team of at most `most` threads. The loops inside share their indices among the
// team, and end when all indices are done; this is cheaper than a team for each loop. All other code runs on every
// thread. It must not depend on anything that a loop of the team writes, and must not write shared data.
template <class Body>
void team(int most, const Body& body) {
    const int wanted = thread_count() < most ? thread_count() : most;
    if (wanted == 1 || detail::member.busy()) {
        body();
        return;
    }
    detail::Turn turn(wanted);
    if (turn.threads() == 1) {
        const detail::Alone alone;
        body();
        return;
    }
    detail::Team team;
#pragma omp parallel num_threads(turn.threads())
    {
        const detail::Membership membership(team);
        body();
    }
    turn.settle(team);
}

// Work after a loop, or none.
using Then = std::function<void()>;

// Calls body(i) for i in [0, n), each on some thread, and then() on the thread that ends the last of them. Neither may
// throw. grain: the least number of indices worth a thread. Outside a team, fewer than two grains run on the calling
// thread. then: for short work, because the other threads wait for it. With it, n must be positive.
template <class Body, class After = detail::Nothing>
void parallel_for(std::ptrdiff_t n, std::ptrdiff_t grain, const Body& body, const After& then = {}) {
    if (detail::member.team != nullptr) {
        detail::share(
            n, grain,
            [&](std::ptrdiff_t first, std::ptrdiff_t last) {
                for (std::ptrdiff_t i = first; i < last; ++i) body(i);
            },
            then);
        return;
    }
    if (n < 2 * grain || thread_count() == 1 || detail::member.busy()) {
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
        if (then) then();
        return;
    }
    team(thread_count(), [&] { parallel_for(n, grain, body, then); });
}

// Whether the indices of a loop cost the same. Threads then take ranges of them, which is cheaper than one at a time.
enum class Cost { equal, different };

// The same on at most `slots` threads. body(i, slot) may use the scratch memory of its slot, one of 0 .. slots - 1.
template <class Body, class After = detail::Nothing>
void parallel_for_slots(std::ptrdiff_t n, int slots, const Body& body, Cost cost = Cost::different,
                        const After& then = {}) {
    if (detail::member.team != nullptr) { // the caller limits a team to this number of slots
        const auto in_slot = [&](std::ptrdiff_t i) { body(i, thread_index()); };
        return cost == Cost::equal ? parallel_for(n, 1, in_slot, then) : detail::share_one_by_one(n, in_slot, then);
    }
    if (n < 2 || thread_count() == 1 || slots == 1 || detail::member.busy()) {
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i, 0);
        if (then) then();
        return;
    }
    team(slots, [&] { parallel_for_slots(n, slots, body, cost, then); });
}
template <class Body>
void parallel_for_dynamic(std::ptrdiff_t n, const Body& body) {
    parallel_for_slots(n, thread_count(), [&](std::ptrdiff_t i, int) { body(i); });
}

// Calls beside() on the calling thread, while the other threads begin with body(i) for i in [0, n); the calling thread
// then joins them. Both may throw: the rest still runs. Then the exception of beside() is rethrown, or else that of the
// lowest index. Not for use within a team.
template <class Beside, class Body>
void parallel_for_beside(const Beside& beside, std::ptrdiff_t n, const Body& body) {
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(n) + 1);
    const auto guarded = [&](std::ptrdiff_t at, const auto& call) {
        try {
            call();
        } catch (...) {
            thrown[at] = std::current_exception();
        }
    };
    team(n > 0 ? thread_count() : 1, [&] {
        if (detail::member.team == nullptr || thread_index() == 0) guarded(0, beside);
        parallel_for_dynamic(n, [&](std::ptrdiff_t i) { guarded(1 + i, [&] { body(i); }); });
    });
    for (const std::exception_ptr& exception : thrown)
        if (exception) std::rethrow_exception(exception);
}
// parallel_for_dynamic with a body that may throw, in the same way.
template <class Body>
void parallel_for_throwing(std::ptrdiff_t n, const Body& body) {
    parallel_for_beside([] {}, n, body);
}

} // namespace ordo
