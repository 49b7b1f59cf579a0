// SPDX-License-Identifier: MIT
// Files read and replaced as wholes. Reading copies into the caller's memory; nothing is mapped, so
// that a file which shrinks while it is read is an error and not a fatal signal.
#pragma once

#include "ordo.h"

#include <sys/types.h>
#include <utility>

namespace ordo {

// The calls of the operating system whose failures matter, so that tests can make them fail.
struct FileCalls {
    ssize_t (*pread)(int, void*, std::size_t, off_t);
    ssize_t (*write)(int, const void*, std::size_t);
    int (*fsync)(int);
    int (*rename)(const char*, const char*);
    int (*open_unnamed)(const char* directory); // a new file without a name, for writing
    int (*name)(int fd, const char* path);      // gives it one
};
extern const FileCalls system_calls;

// A file descriptor that is closed.
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

// A path as it appears in messages.
std::string printable_path(const std::filesystem::path& path);

// The directory that a path names a file in; "." for a name alone.
std::filesystem::path directory_of(const std::filesystem::path& path);

// Where a path leads when every link that it names is followed, be there a file or not yet: a path that is
// no link. Throws Error(io) for links in a circle.
std::filesystem::path follow_links(const std::filesystem::path& path);

// Whether two paths name one file, through links of both kinds, or would once it is there.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b);

// A regular file, open for reading.
class File {
public:
    // Throws Error(io) for what cannot be opened, and for directories, pipes, devices and sockets,
    // which are refused without being opened.
    explicit File(const std::filesystem::path& path, const FileCalls& calls = system_calls);

    const std::string& where() const { return where_; }
    std::uint64_t size() const { return size_; } // when it was opened
    // Fills out from the given offset. Throws Error(io) if the file ends before.
    void read(std::uint64_t offset, std::span<std::byte> out) const;

private:
    std::string where_;
    Descriptor fd_;
    std::uint64_t size_ = 0;
    const FileCalls* calls_;
};

// All of a regular file. Throws Error(io), or Error(limit) for one of more than limit bytes.
std::string read_file(const std::filesystem::path& path, std::size_t limit);

} // namespace ordo
