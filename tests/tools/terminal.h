// SPDX-License-Identifier: MIT
// The program in a pseudo-terminal, and what somebody in front of it would see.
#pragma once

#include "tests/tools/program.h"

#include <functional>

namespace ordo::test {

// As much of a terminal as the program uses: \r, \n, ESC [ K, colours, which are not seen, and characters, each a
// column wide.
class Screen {
public:
    explicit Screen(int columns) : columns_(columns) {}

    void write(std::string_view bytes);
    // From the first line to the last that holds something, without the spaces at their ends.
    std::vector<std::string> lines() const;
    // How often a line that had wrapped was begun anew: its beginning stays on the screen.
    int floods() const { return floods_; }
    // All the texts that stood on a line when it was overwritten or left.
    const std::vector<std::string>& history() const { return history_; }

private:
    struct Row {
        std::string text;
        bool wrapped = false; // from the row before
    };
    void put(char c);
    void remember();

    int columns_;
    std::vector<Row> rows_{1};
    std::size_t column_ = 0;
    std::string escape_; // the sequence that has begun
    int floods_ = 0;
    bool returned_ = false; // by a \r that may belong to a \n
    std::vector<std::string> history_;
};

struct Watched {
    int code = -1;       // exit code, or 128 + N if it died of signal N
    std::string written; // every byte that came to the terminal
    Screen screen;
};

// Runs work in a child process with a terminal of so many columns as its stdin, stdout and stderr. on_output, if
// given, is called with all that was written so far; what it returns, if not 0, is sent as a signal, once. So is type,
// which returns what is to be typed, if anything.
Watched watch(int columns, const std::function<void()>& work,
              const std::function<int(const std::string& written)>& on_output = {},
              const std::function<std::string(const std::string& written)>& type = {});

// The program as that work, with a terminal that has colours unless the environment says otherwise.
using Environment = std::vector<std::pair<std::string, std::string>>;
Watched run_in_terminal(const std::vector<std::string>& arguments, int columns,
                        const std::function<int(const std::string& written)>& on_output = {},
                        const Environment& environment = {},
                        const std::function<std::string(const std::string& written)>& type = {});

} // namespace ordo::test
