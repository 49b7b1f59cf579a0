// SPDX-License-Identifier: MIT
// A line on the terminal of stderr that says how far something is and is overwritten by the next.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ordo::tools {

// The columns of stderr's terminal: what it says itself, else COLUMNS, else 80.
int terminal_columns();

// Of work that goes on as it went: what remains of `total` after so many seconds for `done`.
double seconds_left(double seconds, std::int64_t done, std::int64_t total);
// "1:05 left"
std::string left_text(double seconds);

// Nothing is shown where stderr is not a terminal. There is one such line at a time, whoever shows it.
class LiveLine {
public:
    explicit LiveLine(bool active = true);
    LiveLine(const LiveLine&) = delete;
    LiveLine& operator=(const LiveLine&) = delete;
    ~LiveLine(); // wipes it, however the work ends

    bool active() const { return active_; }
    // Columns that a text may fill without reaching the next line.
    static int width() { return terminal_columns() - 1; }
    // What is wider is cut: a line that wraps cannot be overwritten. What is not printable is escaped.
    void show(std::string_view text);
    // Leaves an empty line, so that what is written next, to stdout or stderr, stands alone. write_out() and
    // write_message() call it, and so may a handler of signals.
    static void wipe();

private:
    bool active_;
};

} // namespace ordo::tools
