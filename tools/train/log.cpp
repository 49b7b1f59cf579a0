// SPDX-License-Identifier: MIT
#include "tools/train/log.h"

#include "core/error.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace ordo::train {

namespace {

// Whether the file is empty or begins with a log's header. False if it cannot be read.
bool begins_as_log(int fd) {
    std::string begin = csv_header();
    const ssize_t n = ::pread(fd, begin.data(), begin.size(), 0);
    return n == 0 || (n == static_cast<ssize_t>(begin.size()) && begin == csv_header());
}

} // namespace

Log::Log(const std::filesystem::path& file, std::int64_t keep, OldRows old_rows) : where_(printable_path(file)) {
    std::error_code error;
    if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
        fail(ErrorCode::io, where_, ": exists and is not a regular file");
    const int create = keep > 0 ? 0 : O_CREAT; // a log to continue must exist
    fd_ = Descriptor(::open(file.c_str(), O_RDWR | O_CLOEXEC | create, 0666));
    if (!is_open()) refuse("opening");
    if (keep > 0)
        go_on(keep);
    else
        start(old_rows);
}

void Log::start(OldRows old_rows) {
    if (!begins_as_log(fd_.get())) fail(ErrorCode::io, where_, ": expected the log of a training, found another file");
    const off_t size = ::lseek(fd_.get(), 0, SEEK_END);
    if (size > static_cast<off_t>(csv_header().size()) && old_rows == OldRows::refuse)
        fail(ErrorCode::io, where_,
             ": expected a log without rows, as there is no checkpoint that goes on with it, found ", size,
             " bytes; --overwrite begins anew");
    if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) < 0) refuse("emptying it");
    add(csv_header());
}

void Log::go_on(std::int64_t keep) {
    const off_t size = ::lseek(fd_.get(), 0, SEEK_END);
    if (size < keep)
        fail(ErrorCode::io, where_, ": expected the ", keep, " bytes after which the checkpoint goes on, found ", size,
             "; without --log the training goes on all the same");
    std::string begin = csv_header();
    char last = 0;
    const auto length = static_cast<ssize_t>(begin.size());
    const bool read = ::pread(fd_.get(), begin.data(), begin.size(), 0) == length &&
                      ::pread(fd_.get(), &last, 1, static_cast<off_t>(keep - 1)) == 1;
    if (!read || begin != csv_header() || last != '\n')
        fail(ErrorCode::io, where_, ": expected the log that the checkpoint goes on with, found another file");
    if (::ftruncate(fd_.get(), static_cast<off_t>(keep)) != 0) refuse("cutting it to the checkpoint");
    if (::lseek(fd_.get(), 0, SEEK_END) < 0) refuse("going to its end");
    written_ = keep;
}

void Log::refuse(std::string_view doing) const {
    fail(ErrorCode::io, where_, ": ", doing, ": ", std::generic_category().message(errno));
}

void Log::add(std::string_view row) {
    if (!is_open()) return;
    rows_ += row;
    if (rows_.size() > 64 * 1024) write_rows();
}

void Log::write_rows() {
    std::string_view left = rows_;
    while (!left.empty()) {
        const ssize_t n = ::write(fd_.get(), left.data(), left.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) refuse("writing");
        written_ += n;
        left.remove_prefix(n);
    }
    rows_.clear();
}

std::int64_t Log::flush() {
    if (!is_open()) return 0;
    write_rows();
    while (::fsync(fd_.get()) != 0)
        if (errno != EINTR) refuse("bringing it to the disk");
    return written_;
}

bool is_log(const std::filesystem::path& file) {
    const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    return begins_as_log(fd.get());
}

std::string csv_header() {
    return "step,tokens,lr,loss,grad_norm,tokens_per_second,validation_loss\n";
}

std::string csv_row(std::int64_t step, std::int64_t tokens, double lr, double loss, double grad_norm, double rate) {
    char text[160];
    std::snprintf(text, sizeof text, "%lld,%lld,%.6g,%.5f,%.4f,%.0f,\n", static_cast<long long>(step),
                  static_cast<long long>(tokens), lr, loss, grad_norm, rate);
    return text;
}

std::string csv_validation(std::int64_t step, std::int64_t tokens, double validation_loss) {
    char text[96];
    std::snprintf(text, sizeof text, "%lld,%lld,,,,,%.5f\n", static_cast<long long>(step),
                  static_cast<long long>(tokens), validation_loss);
    return text;
}

} // namespace ordo::train
