// SPDX-License-Identifier: MIT
#include "tools/cli/machine.h"

#include "tests/temp_dir.h"

#include <gtest/gtest.h>

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

} // namespace
} // namespace ordo::tools
