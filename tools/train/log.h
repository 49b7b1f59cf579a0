// SPDX-License-Identifier: MIT
// The CSV file of a run. It grows at its end and a checkpoint only says how long it was, so that a long
// run costs no more to save than a short one.
#pragma once

#include "io/file.h"

namespace ordo::train {

// What to do with the rows of a log that a run does not go on with.
enum class OldRows { refuse, replace };

class Log {
public:
    Log() = default; // without a file; rows go nowhere
    // Starts the file, or with keep > 0 goes on after its first keep bytes, which must be there. A file that no Log
    // wrote is refused and left as it is. Throws Error(io), as all methods do.
    Log(const std::filesystem::path& file, std::int64_t keep, OldRows old_rows);

    bool is_open() const { return fd_.get() >= 0; }
    void add(std::string_view row); // held back until there are many
    // Brings all rows to the disk. Returns the length of the file.
    std::int64_t flush();

private:
    void write_rows();
    void start(OldRows old_rows);
    void go_on(std::int64_t keep);
    [[noreturn]] void refuse(std::string_view doing) const;

    std::string where_;
    Descriptor fd_;
    std::int64_t written_ = 0; // bytes
    std::string rows_;         // not written yet
};

// True for a file that a run may have written, if only begun: an empty one, or one that begins with csv_header().
// False if it cannot be read.
bool is_log(const std::filesystem::path& file);

std::string csv_header();
std::string csv_row(std::int64_t step, std::int64_t tokens, double lr, double loss, double grad_norm, double rate);
std::string csv_validation(std::int64_t step, std::int64_t tokens, double validation_loss);

} // namespace ordo::train
