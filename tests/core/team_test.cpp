// SPDX-License-Identifier: MIT
// Teams: every index runs once even if threads are late, waiting threads spin for a bounded time and then sleep, and a
// team gets a bounded number of threads. No test depends on speed. The names contain Thread, which selects them for the
// thread sanitizer.
#include "core/parallel.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <sched.h>
#include <thread>
#include <vector>

namespace ordo {
namespace {

using detail::Balance;
using detail::Turn;

void sleep_for(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

class TeamThreads : public testing::Test {
protected:
    ~TeamThreads() override { set_threads(before_); }

private:
    int before_ = thread_count();
    detail::Restless restless_;
};

TEST_F(TeamThreads, EveryIndexIsComputedOnce) {
    for (const int threads : {1, 2, 3, 8, 70}) { // also more threads than a loop has parts
        set_threads(threads);
        for (const std::ptrdiff_t n : {0, 1, 2, 7, 64, 65, 1000}) {
            std::vector<std::atomic<int>> fixed(static_cast<std::size_t>(n)), dynamic(static_cast<std::size_t>(n));
            team(threads, [&] {
                for (int repeat = 0; repeat < 5; ++repeat) {
                    parallel_for(n, 1, [&](std::ptrdiff_t i) { ++fixed[i]; });
                    parallel_for(n, 100, [&](std::ptrdiff_t i) { ++fixed[i]; });
                    for (const Cost cost : {Cost::different, Cost::equal})
                        parallel_for_slots(
                            n, threads,
                            [&](std::ptrdiff_t i, int slot) {
                                EXPECT_TRUE(slot >= 0 && slot < threads);
                                ++dynamic[i];
                            },
                            cost);
                }
            });
            for (const auto& count : fixed) EXPECT_EQ(count, 10) << n << " on " << threads;
            for (const auto& count : dynamic) EXPECT_EQ(count, 10) << n << " on " << threads;
        }
    }
}

// A loop reads the output of the loop before it, whichever threads computed that.
TEST_F(TeamThreads, LoopsFollowEachOther) {
    set_threads(3);
    std::vector<int> a(300), b(300);
    std::iota(a.begin(), a.end(), 0);
    team(3, [&] {
        for (int step = 0; step < 50; ++step) {
            parallel_for(300, 1, [&](std::ptrdiff_t i) { b[i] = a[(i + 7) % 300]; });
            parallel_for(300, 1, [&](std::ptrdiff_t i) { a[i] = b[(i + 293) % 300] + 1; });
        }
    });
    for (int i = 0; i < 300; ++i) EXPECT_EQ(a[i], i + 50);
}

// Work after a loop runs once, on one thread, when all indices are done, and before the next loop.
TEST_F(TeamThreads, WorkAfterALoopSeesAllOfIt) {
    for (const int threads : {1, 2, 3, 8}) {
        set_threads(threads);
        for (const std::ptrdiff_t n : {1, 2, 7, 64, 65}) {
            std::vector<int> a(static_cast<std::size_t>(n));
            int sum = 0, calls = 0;
            const auto add = [&](std::ptrdiff_t i) { a[i] = sum + 1; };
            const std::function<void()> then = [&] {
                EXPECT_TRUE(detail::member.busy() || threads == 1 || n == 1) << "its loops run on its thread";
                sum = std::accumulate(a.begin(), a.end(), 0) / static_cast<int>(n);
                ++calls;
            };
            team(threads, [&] {
                for (int step = 0; step < 20; ++step) {
                    parallel_for(n, 1, add, then);
                    parallel_for_slots(
                        n, threads, [&](std::ptrdiff_t i, int) { add(i); },
                        step % 2 == 0 ? Cost::equal : Cost::different, then);
                    parallel_for(1, 1, [&](std::ptrdiff_t) { ++a[n - 1]; });
                }
            });
            EXPECT_EQ(calls, 40) << n << " on " << threads;
            EXPECT_EQ(sum, 40) << n << " on " << threads;
        }
    }
}

// A thread that waits for such work sleeps too, and a late one does not repeat it.
TEST_F(TeamThreads, WorkAfterALoopMayTakeLong) {
    set_threads(3);
    const auto sleeps = detail::waits.sleeps.load();
    int calls = 0;
    const std::function<void()> then = [&] {
        for (int i = 0; i < 60'000 && detail::waits.sleeps == sleeps; ++i) sleep_for(1);
        ++calls;
    };
    team(3, [&] {
        if (thread_index() == 2) sleep_for(20);
        parallel_for(
            3, 1, [](std::ptrdiff_t) {}, then);
        EXPECT_EQ(calls, 1);
    });
    EXPECT_GT(detail::waits.sleeps.load(), sleeps);
}

// A descheduled thread delays no one: the others do its share and continue.
TEST_F(TeamThreads, NobodyWaitsForAThreadThatIsLate) {
    set_threads(2);
    std::atomic<int> loops{0};
    std::atomic<bool> done{false};
    int helped = 0;
    detail::Team shared;
#pragma omp parallel num_threads(2)
    {
        const detail::Membership membership(shared);
        if (thread_index() == 1)
            while (!done) sleep_for(1); // arrives when all work is done
        for (int loop = 0; loop < 20; ++loop) {
            parallel_for(8, 1, [&](std::ptrdiff_t) {
                if (thread_index() == 1) ++helped;
                ++loops;
            });
        }
        done = true;
    }
    EXPECT_EQ(loops, 20 * 8);
    EXPECT_EQ(helped, 0);
}

// A thread that waits for a piece in another thread's hands sleeps instead of using a processor.
TEST_F(TeamThreads, WaitingIsSleeping) {
    detail::Team shared;
    const auto yields = detail::waits.yields.load(), sleeps = detail::waits.sleeps.load();
    constexpr int loops = 5;
#pragma omp parallel num_threads(2)
    {
        const detail::Membership membership(shared);
        // Even on a busy machine, the first piece ends only when a thread sleeps.
        parallel_for(1, 1, [&](std::ptrdiff_t) {
            for (int i = 0; i < 60'000 && detail::waits.sleeps == sleeps; ++i) sleep_for(1);
        });
        for (int loop = 1; loop < loops; ++loop) parallel_for(1, 1, [&](std::ptrdiff_t) { sleep_for(50); });
    }
    // One of two threads waits in each loop, and perhaps at the end. It may have been late for some loops.
    EXPECT_GE(detail::waits.sleeps - sleeps, 1u);
    EXPECT_LE(detail::waits.sleeps - sleeps, loops + 1u);
    EXPECT_LE(detail::waits.yields - yields, loops + 1u);
}

TEST_F(TeamThreads, LoopsWithinALoopRunOnItsThread) {
    set_threads(4);
    std::atomic<int> count{0};
    parallel_for(6, 1, [&](std::ptrdiff_t) {
        const int index = thread_index();
        parallel_for(10, 1, [&](std::ptrdiff_t) {
            EXPECT_EQ(thread_index(), index);
            ++count;
        });
        parallel_for_throwing(10, [&](std::ptrdiff_t) { ++count; });
    });
    EXPECT_EQ(count, 6 * 20);
}

TEST_F(TeamThreads, TheExceptionOfTheLowestIndexGoesOn) {
    set_threads(3);
    std::atomic<int> ran{0};
    try {
        parallel_for_throwing(40, [&](std::ptrdiff_t i) {
            ++ran;
            if (i % 10 == 3) throw static_cast<int>(i);
        });
        FAIL();
    } catch (const int i) {
        EXPECT_EQ(i, 3);
    }
    EXPECT_EQ(ran, 40);
    bool beside = false;
    parallel_for_beside([&] { beside = true; }, 5, [](std::ptrdiff_t) {});
    EXPECT_TRUE(beside);
}

// A thread that begins on the processor of the team's first thread goes to another one, and keeps its right to all.
TEST_F(TeamThreads, AThreadLeavesTheProcessorOfTheFirst) {
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one processor";
    bool left = false; // a busy system may bring it back at once
    for (int i = 0; i < 20 && !left; ++i) {
        detail::Team team;
        const int processor = sched_getcpu();
        team.enter();
        team.spread();
        left = sched_getcpu() != processor;
    }
    EXPECT_TRUE(left);
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

// All teams of a process together have at most as many threads as processors, unless a single team is given more.
TEST_F(TeamThreads, TeamsLeaveProcessorsToEachOther) {
    const int processors = omp_get_num_procs();
    const Turn first(processors + 3);
    ASSERT_EQ(first.threads(), processors + 3);
    std::vector<std::thread> hosts;
    std::vector<int> threads(16);
    for (int& count : threads) hosts.emplace_back([&count] { count = Turn(8).threads(); });
    for (std::thread& host : hosts) host.join();
    EXPECT_EQ(threads, std::vector<int>(16, 1));
}

TEST(TeamBalance, RestsAfterTeamsThatLost) {
    using namespace std::chrono_literals;
    Clock::time_point now{1h};
    Balance balance;
    EXPECT_TRUE(balance.pays(now));
    for (int i = 0; i < 1000; ++i) balance.add(now, 1e-3, 0.4e-3, 2); // still faster than one thread
    EXPECT_TRUE(balance.pays(now));
    for (int i = 0; i < 3; ++i) balance.add(now, 3.5e-3, 3.5e-3, 2); // 10.5 ms lost in a stall, after a gain of 8 ms
    EXPECT_TRUE(balance.pays(now));
    balance.add(now, 3.5e-3, 3.5e-3, 2);
    EXPECT_FALSE(balance.pays(now));
    EXPECT_FALSE(balance.pays(now + 31ms));
    EXPECT_TRUE(balance.pays(now + 33ms));
    // Eight threads gain more and lose as much.
    for (int i = 0; i < 100; ++i) balance.add(now, 1e-3, 0.85e-3, 8);
    EXPECT_TRUE(balance.pays(now + 1s));
}

// A processor that stays busy costs a trial each time, so the trials become rare.
TEST(TeamBalance, RestsLongerEachTimeInVain) {
    using namespace std::chrono_literals;
    Clock::time_point now{1h};
    Balance balance;
    for (const auto rest : {32ms, 64ms, 128ms, 256ms, 256ms}) {
        balance.add(now, 5e-3, 5e-3, 2);
        EXPECT_FALSE(balance.pays(now + rest - 1ms));
        now += rest + 1ms;
        EXPECT_TRUE(balance.pays(now));
    }
    for (int i = 0; i < 20; ++i) balance.add(now, 1e-3, 0, 2); // the other program has ended
    for (int i = 0; i < 3; ++i) balance.add(now, 5e-3, 5e-3, 2);
    EXPECT_FALSE(balance.pays(now + 31ms));
    EXPECT_TRUE(balance.pays(now + 33ms));
}

} // namespace
} // namespace ordo
