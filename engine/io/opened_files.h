// SPDX-License-Identifier: MIT
// The files that a program has read, by device and inode, so that it overwrites none of them under any name.
#pragma once

#include <filesystem>
#include <set>
#include <utility>

#include <sys/stat.h>

namespace ordo {

// While one of these lives, File records in it each file that it opens. If several live, the newest records. AtomicFile
// refuses to replace a file that any of them holds. The library itself creates none: its callers may replace the file
// of a model that they have loaded.
class OpenedFiles {
public:
    OpenedFiles();
    OpenedFiles(const OpenedFiles&) = delete;
    OpenedFiles& operator=(const OpenedFiles&) = delete;
    ~OpenedFiles(); // in the opposite order

    static void note(const struct stat& file);
    static bool contain(const struct stat& file);
    static void forget(const struct stat& file); // a new file: its inode may be that of a deleted file that was read

private:
    OpenedFiles* before_;
    std::set<std::pair<dev_t, ino_t>> files_;
};

} // namespace ordo
