// SPDX-License-Identifier: MIT
// Runs the program in a pseudo-terminal and records the screen that a user would see.
#pragma once

#include "tests/tools/child.h"

#include <functional>

namespace ordo::test {

// The part of a terminal that the program uses: \r, \n, ESC [ K, colours (which are not recorded), and characters, each
// one column wide.
class Screen {
public:
    explicit Screen(int columns) : columns_(columns) {}

    void write(std::string_view bytes);
    // From the first line to the last that is not empty, without trailing spaces.
    std::vector<std::string> lines() const;
    // How often a wrapped line was rewritten, which leaves its beginning on the screen.
    int floods() const { return floods_; }
    // Every text that was on a line when the line was overwritten or left.
    const std::vector<std::string>& history() const { return history_; }

private:
    struct Row {
        std::string text;
        bool wrapped = false; // continues the row before
    };
    void put(char c);
    void remember();

    int columns_;
    std::vector<Row> rows_{1};
    std::size_t column_ = 0;
    std::string escape_; // the unfinished escape sequence
    int floods_ = 0;
    bool returned_ = false; // by a \r that may belong to a \n
    std::vector<std::string> history_;
};

struct Watched {
    int code = -1;       // exit code, or 128 + N if it died of signal N
    std::string written; // every byte that came to the terminal
    Screen screen;
};

// Runs work in a child process with a terminal of this width as its stdin, stdout and stderr. on_output, if given,
// receives all output so far and returns a signal to send once, or 0. type, if given, receives the same and returns the
// text to type, if any.
Watched watch(int columns, const std::function<void()>& work,
              const std::function<int(const std::string& written)>& on_output = {},
              const std::function<std::string(const std::string& written)>& type = {});

// Runs the program that way. The terminal has colours unless the environment says otherwise.
using Environment = std::vector<std::pair<std::string, std::string>>;
Watched run_in_terminal(const std::vector<std::string>& arguments, int columns,
                        const std::function<int(const std::string& written)>& on_output = {},
                        const Environment& environment = {},
                        const std::function<std::string(const std::string& written)>& type = {});

} // namespace ordo::test
