// SPDX-License-Identifier: MIT
// The limits of control groups (Linux, cgroup v2 and v1), with which containers, systemd and Slurm share a machine. The
// kernel kills a process that takes more memory, and throttles it when its processor time is used up.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace ordo {

struct GroupLimits {
    std::uint64_t memory = std::numeric_limits<std::uint64_t>::max(); // bytes
    double processors = std::numeric_limits<double>::infinity();      // 0.5: half of the time of one processor
};

// The tightest limits of this process's groups and of all groups above them. An unreadable file sets no limit. root:
// the folder that contains proc/ and the mount points.
GroupLimits group_limits(const std::filesystem::path& root = "/");

// The machine's memory in bytes, or the limit of its groups if that is less.
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

} // namespace ordo
