// SPDX-License-Identifier: MIT
// Replacing a file so that, whatever happens in between (an error, a full disk, a kill), its name stands
// for the whole old content or the whole new one.
#pragma once

#include "io/file.h"

#include <functional>

namespace ordo {

// What a target that is a symbolic link stands for: the file behind it, or itself, which is then replaced.
enum class Links { follow, replace };

// Reads what was written, under this path, and throws Error if it is not as it should be.
using FileCheck = std::function<void(const std::filesystem::path& written)>;

// Content goes to a file in the same directory that has no name yet (O_TMPFILE) and goes with the process;
// commit() brings it to the disk, names it beside the target and renames it over that. Without commit() the
// target is untouched. A target that is a symbolic link is followed, be there a file behind it or not, unless
// Links::replace says otherwise; one that is not a regular file is refused, and so is one of OpenedFiles.
//
// A kill between the name and the rename, some microseconds, leaves a temporary file behind; so does one at
// any time on a file system without unnamed files (NFS, some overlays), where the file has that name from
// the start. The name is made of the target's: ".TARGET.ordo-N.tmp", N from 0 to 15, and TARGET its first
// 200 bytes. Its writer holds a lock on it (flock), so what nobody locks is a leftover: the next AtomicFile
// of that target removes it, as remove_leftovers() does.
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
    // check: of the content, before it takes the target's place. An Error of its becomes one of the target's.
    void commit(const FileCheck& check = {});

private:
    [[noreturn]] void refuse(std::string_view doing, int code) const;
    void open_named();
    void name();
    void check_content(const FileCheck& check) const;
    void write_through(std::span<const std::byte> bytes);
    void remove_temporary();

    std::string where_;
    std::filesystem::path target_, temporary_; // temporary_ is empty while there is none with a name
    Descriptor fd_;
    std::vector<std::byte> buffer_;
    const FileCalls* calls_;
};

// Throws the Error that writing to this target would begin with, and changes nothing: for checks before long work.
void check_writable(const std::filesystem::path& target);

void write_file(const std::filesystem::path& target, std::string_view content, Links links = Links::follow);

// Removes what killed processes left of a file that they were about to write; never throws for what it
// cannot remove.
void remove_leftovers(const std::filesystem::path& target);

} // namespace ordo
