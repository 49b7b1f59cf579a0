// SPDX-License-Identifier: MIT
// Limits of control groups, in folders laid out like /proc and /sys/fs/cgroup in the kernel's documentation:
// cgroups(7), Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, sched-bwc.rst.
#include "io/control_group.h"

#include "tests/temp_dir.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

class ControlGroup : public testing::Test {
protected:
    void put(const std::string& file, const std::string& content) const {
        fs::create_directories((dir_ / file).parent_path());
        test::put_file(dir_ / file, content);
    }
    // Writes /proc: the groups, and the mounts of the hierarchies with the group at the root of each.
    void put_proc(const std::string& groups, const std::string& mounts) const {
        put("proc/self/cgroup", groups);
        put("proc/self/mountinfo", "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" + mounts);
    }
    void put_unified(const std::string& group, const std::string& root = "/") const {
        put_proc("0::" + group + "\n",
                 "30 22 0:26 " + root + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    }
    GroupLimits limits() const { return group_limits(dir_.path()); }

    test::TempDir dir_;
};

TEST_F(ControlGroup, WithoutFilesThereIsNoLimit) {
    EXPECT_EQ(limits().memory, none);
    EXPECT_EQ(limits().processors, std::numeric_limits<double>::infinity());
    EXPECT_GT(usable_memory(dir_.path()), std::uint64_t{1} << 20); // the machine's
    put_unified("/");
    EXPECT_EQ(limits().memory, none);
    put("sys/fs/cgroup/memory.max", "max\n");
    put("sys/fs/cgroup/cpu.max", "max 100000\n");
    EXPECT_EQ(limits().memory, none);
    EXPECT_EQ(limits().processors, std::numeric_limits<double>::infinity());
}

TEST_F(ControlGroup, TheTightestLevelOfVersion2Counts) {
    put_unified("/system.slice/ordo.service/worker");
    put("sys/fs/cgroup/system.slice/memory.max", "400000000\n");
    put("sys/fs/cgroup/system.slice/ordo.service/memory.max", "314572800\n");
    put("sys/fs/cgroup/system.slice/ordo.service/worker/memory.max", "max\n");
    put("sys/fs/cgroup/system.slice/cpu.max", "100000 100000\n"); // CPUQuota=100%
    put("sys/fs/cgroup/system.slice/ordo.service/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/system.slice/ordo.service/worker/cpu.max", "300000 100000\n");
    put("sys/fs/cgroup/other.slice/memory.max", "1\n");
    EXPECT_EQ(limits().memory, 314572800u);
    EXPECT_EQ(limits().processors, 1);
    EXPECT_EQ(usable_memory(dir_.path()), 314572800u);
}

TEST_F(ControlGroup, Version1HasAHierarchyForEachController) {
    put_proc(
        "12:memory:/slurm/uid_1/job_7/step_0\n4:cpu,cpuacct:/slurm/uid_1/job_7\n3:cpuset:/\n1:name=systemd:/x\n0::/x\n",
        "32 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
        "33 24 0:30 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory\n"
        "34 24 0:31 / /sys/fs/cgroup/cpuset rw shared:11 - cgroup cgroup rw,cpuset\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); // means no limit
    EXPECT_GE(limits().memory, std::uint64_t{1} << 62);
    put("sys/fs/cgroup/memory/slurm/uid_1/job_7/memory.limit_in_bytes", "2147483648\n");
    put("sys/fs/cgroup/memory/slurm/uid_1/job_7/step_0/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/uid_1/job_7/cpu.cfs_quota_us", "25000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/uid_1/job_7/cpu.cfs_period_us", "50000\n");
    put("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1\n"); // belongs to another hierarchy
    EXPECT_EQ(limits().memory, 2147483648u);
    EXPECT_EQ(limits().processors, 0.5);
}

// --cgroupns=host: names are the host's. The mount shows only the container's group or, in version 2, all groups.
TEST_F(ControlGroup, AContainerThatSeesTheNamesOfItsHost) {
    put_proc("5:memory:/docker/3f2a\n",
             "33 24 0:30 /docker/3f2a /sys/fs/cgroup/memory ro master:10 - cgroup cgroup rw,memory\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "300000000\n");
    EXPECT_EQ(limits().memory, 300000000u);
    put_proc("5:memory:/kubepods/pod1/3f2a/inner\n",
             "33 24 0:30 /kubepods/pod1/3f2a /sys/fs/cgroup/memory ro master:10 - cgroup cgroup rw,memory\n");
    put("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "200000000\n");
    EXPECT_EQ(limits().memory, 200000000u);
    put_proc("5:memory:/elsewhere\n",
             "33 24 0:30 /docker/3f2a /sys/fs/cgroup/memory ro master:10 - cgroup cgroup rw,memory\n");
    EXPECT_EQ(limits().memory, 300000000u);
    put_unified("/docker/3f2a");
    put("sys/fs/cgroup/docker/3f2a/memory.max", "100000000\n");
    EXPECT_EQ(limits().memory, 100000000u);
    put_unified("/../3f2b"); // a group outside the namespace
    put("sys/fs/cgroup/memory.max", "50000000\n");
    EXPECT_EQ(limits().memory, 50000000u);
}

TEST_F(ControlGroup, NamesAndNumbersThatAreOdd) {
    put_proc("no colon\n0::/a b\n7:memory\n",
             "30 22 0:26 / /sys/fs/my\\040groups rw - cgroup2 none rw\n31 x - cgroup2\n-\n");
    put("sys/fs/my groups/a b/memory.max", "123\n");
    EXPECT_EQ(limits().memory, 123u);
    for (const char* text : {"", "\n", "many\n", "-5\n", "1e400\n"}) {
        put("sys/fs/my groups/a b/memory.max", text);
        EXPECT_EQ(limits().memory, none) << text;
    }
    for (const char* text : {"", "50000\n", "0 100000\n", "100000 0\n", "-1 100000\n", "x y\n"}) {
        put("sys/fs/my groups/a b/cpu.max", text);
        EXPECT_EQ(limits().processors, std::numeric_limits<double>::infinity()) << text;
    }
}

} // namespace
} // namespace ordo
