// SPDX-License-Identifier: MIT
// The only door to OpenMP's threads. The thread count is the caller's (omp_set_num_threads); work is
// split by index, so that what an index computes never depends on how many threads there are.
#pragma once

#include <omp.h>

#include <cstddef>
#include <exception>
#include <vector>

namespace ordo {

inline int thread_count() {
    return omp_get_max_threads();
}
// For programs; the library leaves the count to them.
inline void set_threads(int count) {
    omp_set_num_threads(count);
}
inline int thread_index() {
    return omp_get_thread_num();
}

namespace detail {
inline thread_local bool side_by_side = false; // this thread runs a team's code, as do the others of the team
}

// body() on every thread of one team, at most `most` of them, side by side. The loops below split their
// indices among the team and end with a barrier, which is cheaper than a region for each. All else runs
// on every thread: it must write nothing that the threads share.
template <class Body>
void team(int most, const Body& body) {
    const int threads = omp_get_max_threads() < most ? omp_get_max_threads() : most;
    if (threads == 1 || omp_in_parallel()) {
        body();
        return;
    }
#pragma omp parallel num_threads(threads)
    {
        detail::side_by_side = true;
        body();
        detail::side_by_side = false;
    }
}

namespace detail {
// Within a loop of a team a thread is on its own: loops inside run on it alone.
struct Alone {
    Alone() { side_by_side = false; }
    ~Alone() { side_by_side = true; }
};
} // namespace detail

// body(i) for i in [0, n), each on some thread. body must not throw. grain: the least number of
// indices worth a thread; below two grains everything runs on the calling thread.
template <class Body>
void parallel_for(std::ptrdiff_t n, std::ptrdiff_t grain, const Body& body) {
    if (detail::side_by_side) {
        const detail::Alone alone;
#pragma omp for schedule(static)
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
        return;
    }
    if (n < 2 * grain || omp_get_max_threads() == 1 || omp_in_parallel()) {
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
        return;
    }
#pragma omp parallel for schedule(static)
    for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
}

// The same for work whose cost differs between indices.
template <class Body>
void parallel_for_dynamic(std::ptrdiff_t n, const Body& body) {
    if (n < 2 || omp_get_max_threads() == 1 || omp_in_parallel()) {
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1)
    for (std::ptrdiff_t i = 0; i < n; ++i) body(i);
}

// beside() on the calling thread, while the others begin with body(i) for i in [0, n), which it then joins. Both
// may throw: all the rest still runs, and then the exception of beside(), or else of the lowest index, goes on
// to the caller.
template <class Beside, class Body>
void parallel_for_beside(const Beside& beside, std::ptrdiff_t n, const Body& body) {
    std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(n) + 1);
    const auto guarded = [&](std::ptrdiff_t at, const auto& call) {
        try {
            call();
        } catch (...) {
            thrown[static_cast<std::size_t>(at)] = std::current_exception();
        }
    };
#pragma omp parallel if (n > 0 && omp_get_max_threads() > 1 && !omp_in_parallel())
    {
#pragma omp master
        guarded(0, beside);
#pragma omp for schedule(dynamic, 1)
        for (std::ptrdiff_t i = 0; i < n; ++i) guarded(1 + i, [&] { body(i); });
    }
    for (const std::exception_ptr& exception : thrown)
        if (exception) std::rethrow_exception(exception);
}
// parallel_for_dynamic with a body that may throw, in the same way.
template <class Body>
void parallel_for_throwing(std::ptrdiff_t n, const Body& body) {
    parallel_for_beside([] {}, n, body);
}

// The same on at most slots threads: body(i, slot) may use the scratch memory of its slot, one of
// 0 .. slots - 1.
template <class Body>
void parallel_for_slots(std::ptrdiff_t n, int slots, const Body& body) {
    if (detail::side_by_side) { // the caller keeps a team to the slots that there are
        const detail::Alone alone;
#pragma omp for schedule(dynamic, 1)
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i, omp_get_thread_num());
        return;
    }
    const int threads = omp_get_max_threads() < slots ? omp_get_max_threads() : slots;
    if (n < 2 || threads == 1 || omp_in_parallel()) {
        for (std::ptrdiff_t i = 0; i < n; ++i) body(i, 0);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (std::ptrdiff_t i = 0; i < n; ++i) body(i, omp_get_thread_num());
}

} // namespace ordo
