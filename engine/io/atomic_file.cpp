// SPDX-License-Identifier: MIT
#include "io/atomic_file.h"

#include "core/error.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace ordo {
namespace {

constexpr std::size_t buffer_bytes = 64 * 1024;

[[noreturn]] void refuse(const std::string& where, std::string_view doing, int code) {
    fail(ErrorCode::io, where, ": ", doing, ": ", std::generic_category().message(code));
}

// Links are followed, so that a link to the target keeps being one.
std::filesystem::path resolve(const std::filesystem::path& path, const std::string& where) {
    std::error_code error;
    if (!std::filesystem::is_symlink(path, error)) return path;
    auto target = std::filesystem::weakly_canonical(path, error);
    if (error) fail(ErrorCode::io, where, ": ", error.message());
    return target;
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

} // namespace

AtomicFile::AtomicFile(const std::filesystem::path& target, const FileCalls& calls)
    : where_(printable_path(target)), target_(resolve(target, where_)), calls_(&calls) {
    struct stat old {};
    const bool exists = ::stat(target_.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) fail(ErrorCode::io, where_, ": exists and is not a regular file");
    const std::string stem = ".ordo-" + std::to_string(::getpid()) + "-";
    for (int n = 0; fd_.get() < 0; ++n) {
        auto name = directory_of(target_) / (stem + std::to_string(n) + ".tmp");
        fd_ = Descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        if (fd_.get() >= 0)
            temporary_ = std::move(name);
        else if (errno != EEXIST || n == 10'000)
            refuse(where_, "creating a temporary file beside it", errno);
    }
    // The new file is as open to others as the old one was.
    if (exists && ::fchmod(fd_.get(), old.st_mode & 0777) != 0) {
        const int code = errno;
        remove_temporary();
        refuse(where_, "setting its permissions", code);
    }
}

AtomicFile::~AtomicFile() {
    remove_temporary();
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
        if (n <= 0) refuse(where_, "writing", n < 0 ? errno : ENOSPC);
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
}

void AtomicFile::commit() {
    write_through(buffer_);
    buffer_.clear();
    while (calls_->fsync(fd_.get()) != 0)
        if (errno != EINTR) refuse(where_, "bringing it to the disk", errno);
    if (!fd_.close()) refuse(where_, "closing", errno);
    if (calls_->rename(temporary_.c_str(), target_.c_str()) != 0) refuse(where_, "renaming into place", errno);
    temporary_.clear();
    // The new name is in place; bringing the directory to the disk as well only matters if the power
    // fails, and some file systems refuse it.
    const Descriptor directory(::open(directory_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (directory.get() >= 0) calls_->fsync(directory.get());
}

void write_file(const std::filesystem::path& target, std::string_view content) {
    AtomicFile file(target);
    file.write(content);
    file.commit();
}

} // namespace ordo
