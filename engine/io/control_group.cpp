// SPDX-License-Identifier: MIT
// /proc/self/cgroup names this process's group in each hierarchy, /proc/self/mountinfo the folders that show the
// hierarchies (cgroups(7), proc_pid_mountinfo(5)).
#include "io/control_group.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace ordo {
namespace {

namespace fs = std::filesystem;

// Streams are avoided: they treat a failed allocation as the end of a file.
std::vector<std::string> cut_at(std::string_view text, char separator) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(separator), text.size());
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::vector<std::string> lines_of(const fs::path& file) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::fopen(file.c_str(), "re"), std::fclose);
    std::string text;
    std::array<char, 4096> part;
    while (in) {
        const std::size_t n = std::fread(part.data(), 1, part.size(), in.get());
        if (n == 0) break;
        text.append(part.data(), n);
    }
    return cut_at(text, '\n');
}

bool lists(const std::string& names, const std::string& name) {
    const std::vector<std::string> all = cut_at(names, ',');
    return std::find(all.begin(), all.end(), name) != all.end();
}

// "\040" stands for a space in mountinfo.
std::string unescaped(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        int code = 0;
        const char* const digits = text.data() + i + 1;
        if (text[i] == '\\' && i + 3 < text.size() && std::from_chars(digits, digits + 3, code, 8).ptr == digits + 3) {
            out += static_cast<char>(code);
            i += 3;
        } else {
            out += text[i];
        }
    }
    return out;
}

// A mounted hierarchy: its group `root`, and the groups below it, are visible at `point`.
struct Mount {
    fs::path root, point;
    std::string controllers; // for v1; v2 has all in one hierarchy
    bool unified = false;
};

// "31 23 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory"
std::vector<Mount> mounts(const fs::path& root) {
    std::vector<Mount> all;
    for (const std::string& line : lines_of(root / "proc/self/mountinfo")) {
        const std::vector<std::string> words = cut_at(line, ' ');
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.size() < 5 || words.end() - dash < 4) continue;
        const bool unified = dash[1] == "cgroup2";
        if (!unified && dash[1] != "cgroup") continue;
        all.push_back({unescaped(words[3]), root / fs::path(unescaped(words[4])).relative_path(), dash[3], unified});
    }
    return all;
}

// The folders of a group and of all groups above it within the mount. In a container that sees the names of its host,
// the mount may not contain the group. The mount then begins at the container's own group.
std::vector<fs::path> levels(const Mount& mount, const fs::path& group) {
    std::vector<fs::path> folders{mount.point};
    const fs::path below = group.lexically_relative(mount.root);
    if (below.empty() || *below.begin() == "..") return folders;
    for (const fs::path& name : below)
        if (name != "." && !name.empty()) folders.push_back(folders.back() / name);
    return folders;
}

// A number in a file's first line; -1 if it is missing or a word, as in "max 100000".
double number_of(const fs::path& file, std::size_t index = 0) {
    double value = -1;
    const std::vector<std::string> lines = lines_of(file);
    if (lines.empty()) return value;
    const std::vector<std::string> words = cut_at(lines.front(), ' ');
    if (index < words.size()) std::from_chars(words[index].data(), words[index].data() + words[index].size(), value);
    return value;
}

void limit_memory(GroupLimits& limits, double bytes) {
    if (bytes >= 0 && bytes < 0x1p63) limits.memory = std::min(limits.memory, static_cast<std::uint64_t>(bytes));
}

// quota: the microseconds of processor time in each period.
void limit_processors(GroupLimits& limits, double quota, double period) {
    if (quota > 0 && period > 0) limits.processors = std::min(limits.processors, quota / period);
}

} // namespace

GroupLimits group_limits(const fs::path& root) {
    GroupLimits limits;
    const std::vector<Mount> all = mounts(root);
    for (const std::string& line : lines_of(root / "proc/self/cgroup")) { // "4:memory:/a/b", "0::/a/b"
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (first == line.npos || second == line.npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        for (const Mount& mount : all)
            for (const fs::path& folder : levels(mount, group)) {
                if (mount.unified && controllers.empty()) {
                    limit_memory(limits, number_of(folder / "memory.max"));
                    limit_processors(limits, number_of(folder / "cpu.max"), number_of(folder / "cpu.max", 1));
                }
                if (!mount.unified && lists(controllers, "memory") && lists(mount.controllers, "memory"))
                    limit_memory(limits, number_of(folder / "memory.limit_in_bytes"));
                if (!mount.unified && lists(controllers, "cpu") && lists(mount.controllers, "cpu"))
                    limit_processors(limits, number_of(folder / "cpu.cfs_quota_us"),
                                     number_of(folder / "cpu.cfs_period_us"));
            }
    }
    return limits;
}

std::uint64_t usable_memory(const fs::path& root) {
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    std::uint64_t machine = std::numeric_limits<std::int64_t>::max();
    if (pages > 0 && page > 0) machine = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
    return std::min(machine, group_limits(root).memory);
}

} // namespace ordo
