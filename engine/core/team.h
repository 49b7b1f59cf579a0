// SPDX-License-Identifier: MIT
// Threads that run the same code and share its loops. OpenMP owns the threads, but this file synchronises them.
// OpenMP's barriers spin for milliseconds; if another program uses one of the processors, the awaited thread does not
// run meanwhile. Here a loop ends when all of its pieces are done, by whichever threads run, not when every thread has
// arrived. Only a piece that a thread has begun, and the work after a loop, wait for it. A waiting thread spins for
// microseconds only, then yields its processor, then sleeps.
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
// For programs. The library leaves the count to them.
inline void set_threads(int count) {
    omp_set_num_threads(count);
}

namespace detail {

class Team;

// The role of this thread in its team.
struct Member {
    Team* team = nullptr; // null within a loop: there a thread is on its own, and nested loops run on it alone
    int index = 0, threads = 1;
    std::uint32_t loop = 0; // loops so far, and the pieces in all of them: equal on all threads at the same point
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

// Counts the waits of all teams of the process that outlasted spinning, and yielding. Used by tests.
struct Waits {
    std::atomic<std::uint64_t> yields{0}, sleeps{0};
};
inline Waits waits;

class Team {
public:
    static constexpr int most_parts = 64;
    static constexpr int spins = 1000, yields = 50; // a pause takes 10 to 50 ns, a yield of the processor 200 or more

    // The next piece of a part of a loop, or -1 if all have been taken. A late thread finds that the others have done a
    // loop without it.
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
    // Counts n pieces as done. Returns whether they complete the first `target` pieces of the team. All threads write
    // this count, so that a call costs as much as a short piece: a thread calls it once for all that it has done of a
    // part.
    bool count(std::uint32_t n, std::uint32_t target) { return n > 0 && completed_.fetch_add(n) + n == target; }
    void complete(std::uint32_t n, std::uint32_t target) {
        if (count(n, target) && sleepers_.load() != 0) wake();
    }
    void wait(std::uint32_t target) {
        for (int i = 0; i < spins; ++i) {
            if (reached(target)) return;
            pause();
        }
        wait_long(target);
    }
    // Called when the calling thread enters and leaves. lost() returns the time lost between start and end: waits
    // beyond spinning, and OpenMP's own time to begin and end.
    void enter();
    // Called when another thread enters. A system may start or wake it on the calling thread's processor, and leave it
    // there for milliseconds. It then moves to another one.
    void spread();
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
        asm volatile("isb"); // on most processors YIELD does nothing; ISB takes about as long as PAUSE
#elif defined(__x86_64__)
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
    std::atomic<int> processor_{-1}; // of the calling thread as it entered
};

// A thread in its team, from the first line of the parallel region to the last, where all threads arrive: OpenMP's
// barrier is next.
class Membership {
public:
    explicit Membership(Team& team) {
        member = {&team, omp_get_thread_num(), omp_get_num_threads(), 0, 0, false};
        member.index == 0 ? team.enter() : team.spread();
    }
    ~Membership() {
        Team& team = *member.team;
        const std::uint32_t target = member.target + static_cast<std::uint32_t>(member.threads);
        team.complete(1, target);
        team.wait(target);
        if (member.index == 0) team.leave();
        member = {};
    }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
};

// Decides whether teams of a thread pay. They do not while another program uses a processor of one of their threads,
// and waiting for it takes longer than the whole work would take on one thread. The thread then works alone for a
// while, and twice as long after each attempt in vain. Recent gains of teams count, so an occasional stall does not
// stop them.
class Balance {
public:
    static constexpr double most_credit = 8e-3, least_rest = 0.032, most_rest = 0.256; // seconds

    explicit constexpr Balance(double most_debt = 4e-3) : most_debt_(most_debt) {}
    bool pays(Clock::time_point now) const { return now >= again_; }
    // Adds a team of `threads` threads that took `seconds`, of which it lost `lost` by waiting. Without these waits, it
    // is taken to be as many times as fast as one thread.
    void add(Clock::time_point now, double seconds, double lost, int threads) {
        add(now, (seconds - lost) * threads - seconds);
    }
    // gain: the time that one thread would have taken, minus the team's time.
    void add(Clock::time_point now, double gain) {
        sum_ = std::min(most_credit, sum_ + gain);
        if (sum_ == most_credit) rest_ = least_rest;
        if (sum_ > -most_debt_) return;
        sum_ = 0;
        again_ = now + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(rest_));
        rest_ = std::min(2 * rest_, most_rest);
    }

private:
    double most_debt_, sum_ = 0, rest_ = least_rest;
    Clock::time_point again_{};
};

// For tests of teams: while one of these lives, no thread of the process works alone, whether teams pay or not.
class Restless {
public:
    Restless();
    ~Restless();
    Restless(const Restless&) = delete;
    Restless& operator=(const Restless&) = delete;
};

// The number of threads of a team. It is the wanted number, unless other teams of the process use the processors, teams
// do not pay at the moment, or the process is a child without its parent's threads.
class Turn {
public:
    explicit Turn(int wanted);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    int threads() const { return threads_; }
    void settle(const Team& team); // after the region has ended

private:
    int threads_;
    Clock::time_point start_;
};

// No work after a loop.
struct Nothing {
    explicit operator bool() const { return false; }
    void operator()() const {}
};

// The end of a loop. The thread that completes its pieces calls then(), if there is such work, as one piece more. No
// other thread can help with it.
template <class After>
class End {
public:
    End(Member& self, std::ptrdiff_t pieces, const After& then) : team_(*self.team), then_(then) {
        target_ = self.target += static_cast<std::uint32_t>(pieces) + (then ? 1 : 0);
    }
    void complete(std::uint32_t n) const {
        if (!then_) return team_.complete(n, target_);
        if (!team_.count(n, target_ - 1)) return;
        then_();
        team_.complete(1, target_);
    }

private:
    Team& team_;
    const After& then_;
    std::uint32_t target_ = 0;
};

// Calls body(first, last) for pieces of [0, n), on all threads of the team, and then() after all of them. Each thread
// begins with its own part, the same in each repetition of a loop, and then helps the others.
template <class Body, class After = Nothing>
void share(std::ptrdiff_t n, std::ptrdiff_t grain, const Body& body, const After& then = {}) {
    constexpr std::ptrdiff_t most_pieces = 4;
    Member& self = member;
    ++self.loop;
    if (n <= 0) return;
    Team& team = *self.team;
    const std::ptrdiff_t parts = std::min<std::ptrdiff_t>({n, self.threads, Team::most_parts});
    const std::ptrdiff_t pieces =
        std::clamp<std::ptrdiff_t>(n / (parts * std::max<std::ptrdiff_t>(grain, 1)), 1, most_pieces);
    const std::ptrdiff_t all = parts * pieces;
    const End end(self, all, then);
    {
        const Alone alone;
        for (std::ptrdiff_t i = 0; i < parts; ++i) {
            const std::ptrdiff_t part = (self.index + i) % parts;
            std::uint32_t done = 0;
            while (true) {
                const std::int64_t piece =
                    team.claim(static_cast<int>(part), self.loop, static_cast<std::uint32_t>(pieces));
                if (piece < 0) break;
                const std::ptrdiff_t at = part * pieces + piece;
                body(n * at / all, n * (at + 1) / all);
                ++done;
            }
            end.complete(done);
        }
    }
    team.wait(self.target);
}

// The same with body(i) for i in [0, n), ascending, each on the next free thread.
template <class Body, class After = Nothing>
void share_one_by_one(std::ptrdiff_t n, const Body& body, const After& then = {}) {
    Member& self = member;
    ++self.loop;
    if (n <= 0) return;
    Team& team = *self.team;
    const End end(self, n, then);
    {
        const Alone alone;
        std::uint32_t done = 0;
        while (true) {
            const std::int64_t i = team.claim(0, self.loop, static_cast<std::uint32_t>(n));
            if (i < 0) break;
            body(static_cast<std::ptrdiff_t>(i));
            ++done;
        }
        end.complete(done);
    }
    team.wait(self.target);
}

} // namespace detail

// The index of this thread in its team, valid within a loop too.
inline int thread_index() {
    return detail::member.index;
}

} // namespace ordo
