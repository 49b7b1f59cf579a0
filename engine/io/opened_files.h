// SPDX-License-Identifier: MIT
// The files that a program has read, by device and inode, so that it writes onto none of them, whatever its name.
#pragma once

#include <filesystem>
#include <set>
#include <utility>

#include <sys/stat.h>

namespace ordo {

// While one of these lives, File notes in it each file that it opens. Where several live, the newest takes the note.
// AtomicFile refuses to replace a file that any of them holds. The library itself makes none: its callers may replace
// the file of a model that they have loaded.
class OpenedFiles {
public:
    OpenedFiles();
    OpenedFiles(const OpenedFiles&) = delete;
    OpenedFiles& operator=(const OpenedFiles&) = delete;
    ~OpenedFiles(); // in the opposite order

    static void note(const struct stat& file);
    static bool contain(const struct stat& file);

private:
    OpenedFiles* before_;
    std::set<std::pair<dev_t, ino_t>> files_;
};

} // namespace ordo
