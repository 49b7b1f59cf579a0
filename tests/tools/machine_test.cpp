// SPDX-License-Identifier: MIT
#include "tools/cli/machine.h"

#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tools/cli/process.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <pthread.h>

namespace ordo::tools {
namespace {

namespace fs = std::filesystem;

// One thread for each processor that this process may use. A quota is set in a group below the root.
TEST(Machine, AQuotaOfOneProcessorMeansOneThread) {
    const test::TempDir root;
    fs::create_directories(root / "proc/self");
    fs::create_directories(root / "sys/fs/cgroup/a/b");
    const int all = physical_cores(root.path());
    EXPECT_GE(all, 1);
    test::put_file(root / "proc/self/cgroup", "0::/a/b\n");
    test::put_file(root / "proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    EXPECT_EQ(physical_cores(root.path()), all);
    for (const auto& [quota, threads] : {std::pair("100000 100000", 1),
                                         {"1000 100000", 1},
                                         {"140000 100000", 1},
                                         {"150000 100000", std::min(all, 2)},
                                         {"max 100000", all},
                                         {"100000000 100000", all}}) {
        test::put_file(root / "sys/fs/cgroup/a/cpu.max", quota);
        EXPECT_EQ(physical_cores(root.path()), threads) << quota;
    }
}

// OpenMP binds the first thread before main() to one place.
TEST(Machine, BoundThreadsAreAsManyAsThePlaces) {
    const auto threads_with = [](const std::vector<std::pair<std::string, std::string>>& variables) {
        const test::Outcome outcome = test::run_program({"--version"}, {.environment = variables});
        const std::size_t end = outcome.out.find(" threads by default");
        return end == outcome.out.npos ? 0 : std::stoi(outcome.out.substr(outcome.out.rfind(' ', end - 1)));
    };
    const int unbound = threads_with({});
    EXPECT_GE(unbound, 1);
    for (const auto& [name, value] : {std::pair("OMP_PROC_BIND", "true"),
                                      {"OMP_PROC_BIND", "spread"},
                                      {"OMP_PLACES", "cores"},
                                      {"OMP_PLACES", "threads"},
                                      {"GOMP_CPU_AFFINITY", "0-1023"}}) {
        EXPECT_GE(threads_with({{name, value}}), unbound) << name << "=" << value;
        EXPECT_EQ(threads_with({{name, value}, {"OMP_NUM_THREADS", "2"}}), threads_with({{"OMP_NUM_THREADS", "2"}}));
    }
}

// As under ulimit -s 128.
TEST(Process, GivesThreadsAMebibyteOfStack) {
    constexpr std::size_t small = 128 << 10, large = 8 << 20;
    pthread_attr_t before, attributes;
    ASSERT_EQ(pthread_getattr_default_np(&before), 0);
    for (const std::size_t size : {small, large}) {
        ASSERT_EQ(pthread_getattr_default_np(&attributes), 0);
        ASSERT_EQ(pthread_attr_setstacksize(&attributes, size), 0);
        ASSERT_EQ(pthread_setattr_default_np(&attributes), 0);
        pthread_attr_destroy(&attributes);
        widen_thread_stacks();
        std::size_t found = 0;
        ASSERT_EQ(pthread_getattr_default_np(&attributes), 0);
        ASSERT_EQ(pthread_attr_getstacksize(&attributes, &found), 0);
        EXPECT_EQ(found, size == small ? std::size_t{1} << 20 : size);
        pthread_attr_destroy(&attributes);
    }
    EXPECT_EQ(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&before);
}

} // namespace
} // namespace ordo::tools
