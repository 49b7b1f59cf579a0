// SPDX-License-Identifier: MIT
#include "core/pace.h"

#include <climits>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ordo::detail {
namespace {

std::atomic<int> running{0}; // threads in teams of this process, and callers that work alone instead of in a team

std::atomic<int> restless{0};

thread_local constinit bool without_pool = false;
thread_local constinit Balance balance;

// A forked child has only the thread that forked. OpenMP does not know this, and would wait for ever for the other
// threads of its team.
void after_fork() {
    running = 0;
    without_pool = true;
}
[[maybe_unused]] const int fork_handled = pthread_atfork(nullptr, nullptr, after_fork);

// If other teams run, use only as many threads as they leave processors, and at least one. The only team gets as many
// threads as its caller wants, even more than there are processors.
int reserve(int wanted) {
    static const int processors = omp_get_num_procs();
    int others = running.load(std::memory_order_relaxed), threads = 0;
    do threads = others == 0 ? wanted : std::clamp(processors - others, 1, wanted);
    while (!running.compare_exchange_weak(others, others + threads));
    return threads;
}

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
    static_assert(sizeof word == sizeof(std::uint32_t));
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

} // namespace

void Team::wake() {
    futex(completed_, FUTEX_WAKE_PRIVATE, INT_MAX);
}

void Team::wait_long(std::uint32_t target) {
    const auto start = Clock::now();
    waits.yields.fetch_add(1, std::memory_order_relaxed);
    for (int i = 0; i < yields && !reached(target); ++i) sched_yield();
    if (!reached(target)) {
        waits.sleeps.fetch_add(1, std::memory_order_relaxed);
        sleepers_.fetch_add(1);
        // The thread that completes the last piece either sees the sleeper or has changed the word already.
        for (std::uint32_t seen = completed_.load(); static_cast<std::int32_t>(seen - target) < 0;
             seen = completed_.load())
            futex(completed_, FUTEX_WAIT_PRIVATE, seen);
        sleepers_.fetch_sub(1);
    }
    if (member.index == 0) lost_ += seconds_since(start);
}

void Team::enter() {
    processor_.store(sched_getcpu(), std::memory_order_relaxed);
    static std::atomic<bool> first{true};
    if (first.exchange(false)) sched_yield(); // to new threads that wait for this processor
    entered_ = Clock::now();
}

void Team::spread() {
    const int processor = processor_.load(std::memory_order_relaxed);
    if (processor < 0 || processor != sched_getcpu()) return;
    cpu_set_t allowed, others;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return; // more processors than a set has
    others = allowed;
    CPU_CLR(processor, &others);
    if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
}

Restless::Restless() {
    ++restless;
}
Restless::~Restless() {
    --restless;
}

bool restless_now() {
    return restless != 0;
}

Turn::Turn(int wanted)
    : threads_(reserve(wanted > 1 && (without_pool || (restless == 0 && !balance.pays(Clock::now()))) ? 1 : wanted)),
      start_(Clock::now()) {}

Turn::~Turn() {
    // Not below zero: a child starts its count at 0.
    int count = running.load();
    while (!running.compare_exchange_weak(count, std::max(0, count - threads_))) {
    }
}

void Turn::settle(const Team& team) {
    const auto now = Clock::now();
    balance.add(now, std::chrono::duration<double>(now - start_).count(), team.lost(start_, now), threads_);
}

} // namespace ordo::detail
