// SPDX-License-Identifier: MIT
// The source of a format's parser: an open file, or bytes in memory.
#pragma once

#include "io/file.h"

#include <optional>

namespace ordo {

class FileBytes {
public:
    // Throws Error(io).
    explicit FileBytes(const std::filesystem::path& path);
    // The bytes must outlive the object; where names them in messages.
    FileBytes(std::span<const std::byte> bytes, std::string_view where);

    const std::string& where() const { return where_; } // the path, printable
    std::uint64_t size() const { return size_; }
    // Fills out from the given offset. Throws Error(failure) beyond the end, and Error(io) if the file cannot be read
    // any more.
    void read(std::uint64_t offset, std::span<std::byte> out) const;

private:
    std::optional<File> file_; // empty: bytes_
    std::span<const std::byte> bytes_;
    std::string where_;
    std::uint64_t size_;
};

} // namespace ordo
