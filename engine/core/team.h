// SPDX-License-Identifier: MIT
// Threads that run the same code side by side and share out its loops. OpenMP owns the threads; how they meet is
// ours: OpenMP's own barriers spin for milliseconds, and where another program has one of the processors the thread
// that is waited for does not run meanwhile. Here a loop ends when all of its pieces have been computed, by
// whichever threads run, not when all threads have arrived; and who has to wait spins for microseconds only, then
// yields its processor, then sleeps.
#pragma once

#include "core/timer.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ordo {

inline int thread_count() {
    return omp_get_max_threads();
}
// For programs; the library leaves the count to them.
inline void set_threads(int count) {
    omp_set_num_threads(count);
}

namespace detail {

class Team;

// What this thread is to the team that it is in.
struct Member {
    Team* team = nullptr; // none within a loop: there a thread is on its own, and loops inside run on it alone
    int index = 0, threads = 1;
    std::uint32_t loop = 0; // loops so far, and the pieces in all of them: the same on every thread that got as far
    std::uint32_t target = 0;
    bool alone = false;

    bool busy() const { return team != nullptr || alone || omp_in_parallel() != 0; }
};
inline constinit thread_local Member member;

class Alone {
public:
    Alone() : team_(member.team), before_(member.alone) {
        member.team = nullptr;
        member.alone = true;
    }
    ~Alone() {
        member.team = team_;
        member.alone = before_;
    }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

private:
    Team* team_;
    bool before_;
};

// Waits of all teams of the process so far that went past spinning, and past yielding. Tests count them.
struct Waits {
    std::atomic<std::uint64_t> yields{0}, sleeps{0};
};
inline Waits waits;

class Team {
public:
    static constexpr int most_parts = 64;
    static constexpr int spins = 1000, yields = 50; // a pause takes 10 to 50 ns, a yield of the processor 200 or more

    // The next piece of a part of a loop, or -1 if all have been taken. A thread that is late finds that the others
    // have done a loop without it.
    std::int64_t claim(int part, std::uint32_t loop, std::uint32_t pieces) {
        std::atomic<std::uint64_t>& word = parts_[part].claimed; // the loop, and how many of its pieces
        std::uint64_t seen = word.load(std::memory_order_relaxed);
        while (true) {
            const auto at = static_cast<std::uint32_t>(seen >> 32);
            const std::uint32_t next = at == loop ? static_cast<std::uint32_t>(seen) : 0;
            if (static_cast<std::int32_t>(at - loop) > 0 || next >= pieces) return -1;
            if (word.compare_exchange_weak(seen, std::uint64_t{loop} << 32 | (next + 1), std::memory_order_acq_rel))
                return next;
        }
    }
    // A piece has been computed; with the last one, all of the first `target` of the team.
    void complete(std::uint32_t target) {
        if (completed_.fetch_add(1) + 1 == target && sleepers_.load() != 0) wake();
    }
    void wait(std::uint32_t target) {
        for (int i = 0; i < spins; ++i) {
            if (reached(target)) return;
            pause();
        }
        wait_long(target);
    }
    // The calling thread comes and goes. Of its time between start and end: what it has waited beyond spinning, and
    // what OpenMP took to begin and to end.
    void enter() { entered_ = Clock::now(); }
    void leave() { left_ = Clock::now(); }
    double lost(Clock::time_point start, Clock::time_point end) const {
        return lost_ + std::chrono::duration<double>(entered_ - start + (end - left_)).count();
    }

private:
    bool reached(std::uint32_t target) const {
        return static_cast<std::int32_t>(completed_.load(std::memory_order_acquire) - target) >= 0;
    }
    static void pause() {
#if defined(__aarch64__)
        asm volatile("isb"); // most have a YIELD that does nothing; this takes about what PAUSE does
#else
        __builtin_ia32_pause();
#endif
    }
    void wait_long(std::uint32_t target);
    void wake();

    struct alignas(64) Part {
        std::atomic<std::uint64_t> claimed{0};
    };
    Part parts_[most_parts];
    alignas(64) std::atomic<std::uint32_t> completed_{0};
    std::atomic<int> sleepers_{0};
    alignas(64) double lost_ = 0;
    Clock::time_point entered_{}, left_{};
};

// A thread in its team, from the first line of the parallel region to its last, where all arrive together: OpenMP's
// barrier comes next.
class Membership {
public:
    explicit Membership(Team& team) {
        member = {&team, omp_get_thread_num(), omp_get_num_threads(), 0, 0, false};
        if (member.index == 0) team.enter();
    }
    ~Membership() {
        Team& team = *member.team;
        const std::uint32_t target = member.target + static_cast<std::uint32_t>(member.threads);
        team.complete(target);
        team.wait(target);
        if (member.index == 0) team.leave();
        member = {};
    }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
};

// Whether teams of a thread pay. They do not while another program has the processor of one of their threads, and
// waiting for that takes longer than the work would have taken alone: then it works alone for a while, and for twice as
// long each time that it tries again in vain. What teams have gained lately counts: a stall now and then is no reason.
class Balance {
public:
    static constexpr double most_debt = 4e-3, most_credit = 8e-3, least_rest = 0.032, most_rest = 0.256; // seconds

    bool pays(Clock::time_point now) const { return now >= again_; }
    // A team of so many threads took so many seconds, of which it lost some by waiting.
    void add(Clock::time_point now, double seconds, double lost, int threads) {
        // What one thread would have taken, less what it took.
        sum_ = std::min(most_credit, sum_ + (seconds - lost) * threads - seconds);
        if (sum_ == most_credit) rest_ = least_rest;
        if (sum_ > -most_debt) return;
        sum_ = 0;
        again_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(rest_));
        rest_ = std::min(2 * rest_, most_rest);
    }

private:
    double sum_ = 0, rest_ = least_rest;
    Clock::time_point again_{};
};

// For tests, which are to see teams whether they pay or not: none of the process rests while one of these lives.
class Restless {
public:
    Restless();
    ~Restless();
    Restless(const Restless&) = delete;
    Restless& operator=(const Restless&) = delete;
};

// The threads that a team gets: those that are wanted, unless other teams of the process run on the machine's
// processors, teams do not pay just now, or the process is a child that has none of its parent's threads.
class Turn {
public:
    explicit Turn(int wanted);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    int threads() const { return threads_; }
    void settle(const Team& team); // when the region has ended

private:
    int threads_;
    Clock::time_point start_;
};

// body(first, last) for pieces of [0, n), by all threads of the team: each begins with a part of its own, the same
// one whenever a loop comes again, and helps others when it has done that.
template <class Body>
void share(std::ptrdiff_t n, std::ptrdiff_t grain, const Body& body) {
    constexpr std::ptrdiff_t most_pieces = 4;
    Member& self = member;
    ++self.loop;
    if (n <= 0) return;
    Team& team = *self.team;
    const std::ptrdiff_t parts = std::min<std::ptrdiff_t>({n, self.threads, Team::most_parts});
    const std::ptrdiff_t pieces =
        std::clamp<std::ptrdiff_t>(n / (parts * std::max<std::ptrdiff_t>(grain, 1)), 1, most_pieces);
    const std::ptrdiff_t all = parts * pieces;
    self.target += static_cast<std::uint32_t>(all);
    {
        const Alone alone;
        for (std::ptrdiff_t i = 0; i < parts; ++i) {
            const std::ptrdiff_t part = (self.index + i) % parts;
            while (true) {
                const std::int64_t piece =
                    team.claim(static_cast<int>(part), self.loop, static_cast<std::uint32_t>(pieces));
                if (piece < 0) break;
                const std::ptrdiff_t at = part * pieces + piece;
                body(n * at / all, n * (at + 1) / all);
                team.complete(self.target);
            }
        }
    }
    team.wait(self.target);
}

// body(i) for i in [0, n), ascending, each by the thread that is free next.
template <class Body>
void share_one_by_one(std::ptrdiff_t n, const Body& body) {
    Member& self = member;
    ++self.loop;
    if (n <= 0) return;
    Team& team = *self.team;
    self.target += static_cast<std::uint32_t>(n);
    {
        const Alone alone;
        while (true) {
            const std::int64_t i = team.claim(0, self.loop, static_cast<std::uint32_t>(n));
            if (i < 0) break;
            body(static_cast<std::ptrdiff_t>(i));
            team.complete(self.target);
        }
    }
    team.wait(self.target);
}

} // namespace detail

// Of this thread within its team, within a loop too.
inline int thread_index() {
    return detail::member.index;
}

} // namespace ordo
