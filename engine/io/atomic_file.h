// SPDX-License-Identifier: MIT
// Replaces a file so that its name refers to either the whole old content or the whole new one, whatever happens in
// between (an error, a full disk, a kill).
#pragma once

#include "io/file.h"

#include <filesystem>
#include <functional>

namespace ordo {

// If the target is a symbolic link: replace the file behind it, or the link itself.
enum class Links { follow, replace };

// Reads the written content under this path, and throws Error if it is wrong.
using FileCheck = std::function<void(const std::filesystem::path& written)>;

// Writes to an unnamed file in the same directory (O_TMPFILE), which disappears with the process. commit() syncs it to
// the disk, names it next to the target, and renames it over the target. Without commit() the target stays unchanged. A
// target that is a symbolic link is followed, even to a missing file, unless Links::replace is given. A target that is
// not a regular file is refused, and so is a file of OpenedFiles.
//
// A kill between the naming and the rename, some microseconds, leaves a temporary file behind. On a file system without
// unnamed files (NFS, some overlays) the file has that name from the start, so a kill at any time leaves it. The name
// is ".TARGET.ordo-N.tmp", with N from 0 to 15 and the first 200 bytes of TARGET. The writer holds a lock on the file
// (flock), so an unlocked file is a leftover. The next AtomicFile of that target removes it, as remove_leftovers()
// does.
class AtomicFile {
public:
    // Throws Error(io), as all methods do.
    explicit AtomicFile(const std::filesystem::path& target, const FileCalls& calls = system_calls,
                        Links links = Links::follow);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    // check: called with the content before it replaces the target. Its Error becomes an Error of the target.
    void commit(const FileCheck& check = {});

private:
    [[noreturn]] void refuse(std::string_view doing, int code) const;
    void open_named();
    void name();
    void check_content(const FileCheck& check) const;
    void write_through(std::span<const std::byte> bytes);
    void remove_temporary();

    std::string where_;
    std::filesystem::path target_, temporary_; // temporary_ is empty while the file is unnamed
    Descriptor fd_;
    std::vector<std::byte> buffer_;
    const FileCalls* calls_;
};

// Throws the Error with which writing this target would begin, and changes nothing. For checks before long work.
void check_writable(const std::filesystem::path& target);

void write_file(const std::filesystem::path& target, std::string_view content, Links links = Links::follow);

// Removes the temporary files of killed processes for this target. Never throws for files that it cannot remove.
void remove_leftovers(const std::filesystem::path& target);

} // namespace ordo
