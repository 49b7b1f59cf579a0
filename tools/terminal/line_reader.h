// SPDX-License-Identifier: MIT
// Lines from stdin, which may be edited where that is a terminal and libedit was there when the program was built.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace ordo::tools {

class LineReader {
public:
    LineReader();
    ~LineReader();
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;

    // The next line, without its newline; nothing at the end. The prompt is shown on a terminal alone. Ctrl-C, if it is
    // noted (signals.h), drops what was typed. Throws Error(io), Error(limit).
    std::optional<std::string> read(const std::string& prompt);

private:
    struct Editor;
    std::optional<std::string> read_plain(const std::string& prompt);

    const bool terminal_;
    std::unique_ptr<Editor> editor_; // may be none
    std::string arrived_;            // of lines to come
};

} // namespace ordo::tools
