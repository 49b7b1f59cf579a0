// SPDX-License-Identifier: MIT
// The CSV file of a run. It only grows at its end, and a checkpoint stores its length. So saving a long run costs no
// more than saving a short one.
#pragma once

#include "io/file.h"

namespace ordo::train {

// The treatment of an existing log's rows if the run does not continue them.
enum class OldRows { refuse, replace };

class Log {
public:
    Log() = default; // without a file: rows are dropped
    // Starts the file. With keep > 0, continues after its first keep bytes, which must exist. A file that is not a log
    // is refused and stays unchanged. Throws Error(io), as all methods do.
    Log(const std::filesystem::path& file, std::int64_t keep, OldRows old_rows);

    bool is_open() const { return fd_.get() >= 0; }
    void add(std::string_view row); // buffered until there are many
    // Writes all rows to the disk. Returns the length of the file.
    std::int64_t flush();

private:
    void write_rows();
    void start(OldRows old_rows);
    void go_on(std::int64_t keep);
    [[noreturn]] void refuse(std::string_view doing) const;

    std::string where_;
    Descriptor fd_;
    std::int64_t written_ = 0; // bytes
    std::string rows_;         // not yet written
};

// True for a file that a run may have written or started: an empty file, or a file that begins with csv_header(). False
// if it cannot be read.
bool is_log(const std::filesystem::path& file);

std::string csv_header();
std::string csv_row(std::int64_t step, std::int64_t tokens, double lr, double loss, double grad_norm, double rate);
std::string csv_validation(std::int64_t step, std::int64_t tokens, double validation_loss);

} // namespace ordo::train
