// SPDX-License-Identifier: MIT
// Files that are read and replaced as wholes. Reading copies into the caller's memory. Nothing is mapped, so a file
// that shrinks while it is read causes an error instead of a fatal signal.
#pragma once

#include "rows.h"

#include <filesystem>
#include <sys/types.h>
#include <utility>

namespace ordo {

// The system calls whose failures matter, replaceable so that tests can make them fail.
struct FileCalls {
    ssize_t (*pread)(int, void*, std::size_t, off_t);
    ssize_t (*write)(int, const void*, std::size_t);
    int (*fsync)(int);
    int (*rename)(const char*, const char*);
    int (*open_unnamed)(const char* directory); // a new file without a name, for writing
    int (*name)(int fd, const char* path);      // gives the file a name
};
extern const FileCalls system_calls;

// A file descriptor that closes itself.
class Descriptor {
public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Descriptor();
    int get() const { return fd_; }
    bool close(); // false if the system reports an error, such as a write that failed late

private:
    int fd_;
};

// A path for messages.
std::string printable_path(const std::filesystem::path& path);

// The directory of the file that a path names; "." for a name alone.
std::filesystem::path directory_of(const std::filesystem::path& path);

// The path after following every link in it, whether the file exists or not. The result is not a link. Throws Error(io)
// for links in a circle.
std::filesystem::path follow_links(const std::filesystem::path& path);

// Whether two paths name one file, through links of both kinds, or would if it existed.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// A regular file, open for reading.
class File {
public:
    // Throws Error(io) if the file cannot be opened. Directories, pipes, devices and sockets are refused without being
    // opened.
    explicit File(const std::filesystem::path& path, const FileCalls& calls = system_calls);

    const std::string& where() const { return where_; }
    std::uint64_t size() const { return size_; } // when it was opened
    // Fills out from the given offset. Throws Error(io) if the file ends too early.
    void read(std::uint64_t offset, std::span<std::byte> out) const;

private:
    std::string where_;
    Descriptor fd_;
    std::uint64_t size_ = 0;
    const FileCalls* calls_;
};

// The content of a regular file. Throws Error(io), or Error(limit) if it has more than limit bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

} // namespace ordo
