// SPDX-License-Identifier: MIT
// Reads lines from stdin. On a terminal they can be edited, if libedit was present when the program was built.
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

    // The next line, without its newline; empty at the end. A terminal shows the prompt. A paste keeps its newlines. If
    // Ctrl-C is noted (signals.h), it drops the typed text. Throws Error(io), Error(limit).
    std::optional<std::string> read(const std::string& prompt);

private:
    struct Editor;
    std::optional<std::string> read_plain(const std::string& prompt);

    const bool terminal_;
    std::unique_ptr<Editor> editor_; // may be null
    std::string arrived_;            // bytes of later lines
};

} // namespace ordo::tools
