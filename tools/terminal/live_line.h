// SPDX-License-Identifier: MIT
// A progress line on the terminal of stderr. Each text overwrites the one before.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ordo::tools {

// The columns of stderr's terminal: from the terminal, else COLUMNS, else 80.
int terminal_columns();

// The remaining time at a constant rate, if `done` of `total` took `seconds`.
double seconds_left(double seconds, std::int64_t done, std::int64_t total);
// "1:05 left"
std::string left_text(double seconds);

// Shows nothing if stderr is not a terminal. All objects share one line.
class LiveLine {
public:
    explicit LiveLine(bool active = true);
    LiveLine(const LiveLine&) = delete;
    LiveLine& operator=(const LiveLine&) = delete;
    ~LiveLine(); // clears the line, however the work ends

    bool active() const { return active_; }
    // Columns available before a text would reach the next line.
    static int width() { return terminal_columns() - 1; }
    // Cuts wider text, because a wrapped line cannot be overwritten. Escapes unprintable characters.
    void show(std::string_view text);
    // Clears the line, so that the next output on stdout or stderr starts on an empty one. write_out() and
    // write_message() call it. A signal handler may call it, too.
    static void wipe();

private:
    bool active_;
};

} // namespace ordo::tools
