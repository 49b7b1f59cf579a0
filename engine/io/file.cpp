// SPDX-License-Identifier: MIT
#include "io/file.h"

#include "core/error.h"
#include "io/opened_files.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace ordo {
namespace {

std::string reason(int code) {
    return std::generic_category().message(code);
}

void check_regular(const struct stat& status, const std::string& where) {
    const auto refuse = [&](const char* kind) {
        fail(ErrorCode::io, where, ": expected a regular file, found a ", kind);
    };
    if (S_ISREG(status.st_mode)) return;
    if (S_ISDIR(status.st_mode)) refuse("directory");
    if (S_ISFIFO(status.st_mode)) refuse("pipe");
    if (S_ISSOCK(status.st_mode)) refuse("socket");
    refuse("device");
}

int open_unnamed(const char* directory) {
    const int fd = ::open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    // Without /proc the file could never get a name.
    if (fd >= 0 && ::access(("/proc/self/fd/" + std::to_string(fd)).c_str(), F_OK) != 0) {
        ::close(fd);
        errno = EOPNOTSUPP;
        return -1;
    }
    return fd;
}

int name_file(int fd, const char* path) {
    const std::string unnamed = "/proc/self/fd/" + std::to_string(fd);
    return ::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

} // namespace

const FileCalls system_calls{::pread, ::write, ::fsync, ::rename, open_unnamed, name_file};

Descriptor::~Descriptor() {
    close();
}

bool Descriptor::close() {
    // Linux closes the descriptor even if close() reports EINTR.
    const int fd = std::exchange(fd_, -1);
    return fd < 0 || ::close(fd) == 0 || errno == EINTR;
}

std::string printable_path(const std::filesystem::path& path) {
    return printable(path.native(), 256);
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
    return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

std::filesystem::path follow_links(const std::filesystem::path& path) {
    constexpr int most = 40; // as many as Linux follows
    std::filesystem::path at = path;
    std::error_code error;
    for (int links = 0; std::filesystem::is_symlink(at, error); ++links) {
        if (links == most) fail(ErrorCode::io, printable_path(path), ": ", reason(ELOOP));
        const std::filesystem::path to = std::filesystem::read_symlink(at, error);
        if (error) fail(ErrorCode::io, printable_path(path), ": ", error.message());
        at = directory_of(at) / to; // only `to` if it is absolute
    }
    return at;
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code error;
    if (std::filesystem::equivalent(a, b, error)) return true;
    const std::filesystem::path whole_a = follow_links(a), whole_b = follow_links(b);
    return whole_a.filename() == whole_b.filename() &&
           std::filesystem::equivalent(directory_of(whole_a), directory_of(whole_b), error);
}

File::File(const std::filesystem::path& path, const FileCalls& calls) : where_(printable_path(path)), calls_(&calls) {
    // Checks the file before opening it, because opening a device may have effects. Checks it again afterwards, because
    // the name may then refer to another file; O_NONBLOCK keeps such a file from blocking.
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) fail(ErrorCode::io, where_, ": ", reason(errno));
    check_regular(status, where_);
    fd_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd_.get() < 0 || ::fstat(fd_.get(), &status) != 0) fail(ErrorCode::io, where_, ": ", reason(errno));
    check_regular(status, where_);
    OpenedFiles::note(status);
    size_ = static_cast<std::uint64_t>(status.st_size);
}

void File::read(std::uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
        const ssize_t n = calls_->pread(fd_.get(), out.data(), out.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(ErrorCode::io, where_, ": reading at byte ", offset, ": ", reason(errno));
        if (n == 0)
            fail(ErrorCode::io, where_, ": ends at byte ", offset, " although it had ", size_, " bytes when opened");
        offset += static_cast<std::uint64_t>(n);
        out = out.subspan(n);
    }
}

std::string read_file(const std::filesystem::path& path, std::size_t limit) {
    const File file(path);
    if (file.size() > limit)
        fail(ErrorCode::limit, file.where(), ": file of ", file.size(), " bytes, allowed are ", limit);
    std::string content(static_cast<std::size_t>(file.size()), '\0');
    file.read(0, std::as_writable_bytes(std::span(content)));
    return content;
}

} // namespace ordo
