// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include "core/error.h"
#include "io/opened_files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace ordo {
namespace {

constexpr std::size_t buffer_bytes = 64 * 1024;
constexpr int most_temporaries = 16;      // of one target, for as many writers
constexpr std::size_t most_of_name = 200; // of the 255 bytes of a file name

std::filesystem::path temporary_of(const std::filesystem::path& target, int n) {
    const std::string name = target.filename().native().substr(0, most_of_name);
    return directory_of(target) / ("." + name + ".ordo-" + std::to_string(n) + ".tmp");
}

bool lock(int fd) {
    return ::flock(fd, LOCK_EX | LOCK_NB) == 0;
}

// Whether path still names the file that fd has open.
bool names(const std::filesystem::path& path, int fd) {
    struct stat named {
    }, open{};
    return ::lstat(path.c_str(), &named) == 0 && ::fstat(fd, &open) == 0 && S_ISREG(open.st_mode) &&
           named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

// Removes the temporaries whose writer has ended: their locks are free.
void remove_leftovers_of(const std::filesystem::path& target) {
    for (int n = 0; n < most_temporaries; ++n) {
        const auto path = temporary_of(target, n);
        const Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
        if (fd.get() >= 0 && lock(fd.get()) && names(path, fd.get())) ::unlink(path.c_str());
    }
}

} // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target, const FileCalls& calls, Links links)
    : where_(printable_path(target)), target_(links == Links::follow ? follow_links(target) : target), calls_(&calls) {
    struct stat old {};
    const bool exists = ::lstat(target_.c_str(), &old) == 0 && !S_ISLNK(old.st_mode);
    if (exists && !S_ISREG(old.st_mode)) fail(ErrorCode::io, where_, ": exists and is not a regular file");
    if (exists && OpenedFiles::contain(old))
        fail(ErrorCode::usage, where_, ": expected another file than those that are read, found one of them");
    if (!target_.has_filename()) fail(ErrorCode::io, where_, ": expected the name of a file");
    remove_leftovers_of(target_);
    fd_ = Descriptor(calls.open_unnamed(directory_of(target_).c_str()));
    if (fd_.get() >= 0)
        lock(fd_.get());
    else
        open_named();
    if (struct stat created{}; ::fstat(fd_.get(), &created) == 0) OpenedFiles::forget(created);
    // The new file keeps the permissions of the old one.
    if (exists && ::fchmod(fd_.get(), old.st_mode & 0777) != 0) {
        const int code = errno;
        remove_temporary();
        refuse("setting its permissions", code);
    }
}

AtomicFile::~AtomicFile() {
    remove_temporary();
}

void AtomicFile::refuse(std::string_view doing, int code) const {
    fail(ErrorCode::io, where_, ": ", doing, ": ", std::generic_category().message(code));
}

// Another process that clears leftovers may see the file before it is locked, and remove it.
void AtomicFile::open_named() {
    for (int n = 0; n < most_temporaries; ++n) {
        auto path = temporary_of(target_, n);
        Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (fd.get() < 0 && errno != EEXIST) break;
        if (fd.get() < 0) continue;
        lock(fd.get());
        if (!names(path, fd.get())) continue;
        fd_ = std::move(fd);
        temporary_ = std::move(path);
        return;
    }
    refuse("creating a temporary file beside it", errno);
}

// Gives an unnamed file a temporary name, as only a named file can be renamed over the target.
void AtomicFile::name() {
    for (int n = 0; n < most_temporaries; ++n) {
        auto path = temporary_of(target_, n);
        if (calls_->name(fd_.get(), path.c_str()) == 0) {
            temporary_ = std::move(path);
            return;
        }
        if (errno != EEXIST) break;
    }
    refuse("naming a temporary file beside it", errno);
}

void AtomicFile::remove_temporary() {
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    temporary_.clear();
}

void AtomicFile::write(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() < buffer_bytes) {
        buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
        return;
    }
    write_through(buffer_);
    buffer_.clear();
    write_through(bytes);
}

void AtomicFile::write_through(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = calls_->write(fd_.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) refuse("writing", n < 0 ? errno : ENOSPC);
        bytes = bytes.subspan(n);
    }
}

// An unnamed file has a path in /proc: without /proc, no file is unnamed (io/file.cpp).
void AtomicFile::check_content(const FileCheck& check) const {
    try {
        check(!temporary_.empty() ? temporary_ : std::filesystem::path("/proc/self/fd") / std::to_string(fd_.get()));
    } catch (const Error& error) {
        fail(ErrorCode::failure, where_, ": expected to write what can be read, found: ", error.what());
    }
}

void AtomicFile::commit(const FileCheck& check) {
    write_through(buffer_);
    buffer_.clear();
    if (check) check_content(check);
    while (calls_->fsync(fd_.get()) != 0)
        if (errno != EINTR) refuse("bringing it to the disk", errno);
    if (temporary_.empty()) name();
    if (calls_->rename(temporary_.c_str(), target_.c_str()) != 0) refuse("renaming into place", errno);
    temporary_.clear();
    fd_.close(); // this frees the lock; the content is on the disk since fsync()
    // The new name is in place. Syncing the directory too only matters if the power fails, and some file systems refuse
    // it.
    const Descriptor directory(::open(directory_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0) calls_->fsync(directory.get());
}

void check_writable(const std::filesystem::path& target) {
    const AtomicFile opened_and_dropped(target);
}

void write_file(const std::filesystem::path& target, std::string_view content, Links links) {
    AtomicFile file(target, system_calls, links);
    file.write(content);
    file.commit();
}

void remove_leftovers(const std::filesystem::path& target) {
    try {
        remove_leftovers_of(follow_links(target));
    } catch (const Error&) { // links in a circle lead to no file
    }
}

} // namespace ordo
