// SPDX-License-Identifier: MIT
#include "io/file.h"

#include "core/error.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
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

} // namespace

const FileCalls system_calls{::pread, ::write, ::fsync, ::rename};

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

File::File(const std::filesystem::path& path, const FileCalls& calls) : where_(printable_path(path)), calls_(&calls) {
    // Looked at before it is opened, because opening a device may act; and again afterwards, because
    // the name may by then stand for something else, which O_NONBLOCK keeps from blocking us.
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) fail(ErrorCode::io, where_, ": ", reason(errno));
    check_regular(status, where_);
    fd_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd_.get() < 0 || ::fstat(fd_.get(), &status) != 0) fail(ErrorCode::io, where_, ": ", reason(errno));
    check_regular(status, where_);
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
        out = out.subspan(static_cast<std::size_t>(n));
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
