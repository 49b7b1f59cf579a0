// SPDX-License-Identifier: MIT
// Replacing a file so that, whatever happens in between (an error, a full disk, a kill), its name stands
// for the whole old content or the whole new one.
#pragma once

#include "io/file.h"

namespace ordo {

// Content goes to a temporary file in the same directory; commit() brings it to the disk and renames it
// over the target. Without commit() the target is untouched and the temporary file removed; only a
// process that is killed leaves one behind, named ".ordo-PID-N.tmp". A target that is a symbolic link
// is followed; one that is not a regular file is refused.
class AtomicFile {
public:
    // Throws Error(io), as all methods do.
    explicit AtomicFile(const std::filesystem::path& target, const FileCalls& calls = system_calls);
    AtomicFile(const AtomicFile&) = delete;
    AtomicFile& operator=(const AtomicFile&) = delete;
    ~AtomicFile();

    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
    void commit();

private:
    void write_through(std::span<const std::byte> bytes);
    void remove_temporary();

    std::string where_;
    std::filesystem::path target_, temporary_; // temporary_ is empty when there is none
    Descriptor fd_;
    std::vector<std::byte> buffer_;
    const FileCalls* calls_;
};

void write_file(const std::filesystem::path& target, std::string_view content);

} // namespace ordo
