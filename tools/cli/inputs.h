// SPDX-License-Identifier: MIT
// Text input of the program: --prompt, --file or stdin.
#pragma once

#include "tools/cli/options.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

namespace ordo::tools {

inline constexpr Option prompt_options[] = {
    {Kind::text, "p,prompt", "TEXT", "The input text."},
    {Kind::path, "f,file", "FILE", "Read FILE; - is stdin, as is a pipe without -p."},
    {"special", "Read <|endoftext|> and the like as special tokens."},
};

// The options of a verb whose text is not a prompt.
inline constexpr std::span<const Option> text_options = std::span(prompt_options).first(2);

// Throws Error(usage) if the beginning of a file is of a known kind other than text.
void expect_text(std::string_view begin, const std::string& where);

// Reads a whole file, a pipe or, for "-", stdin. Throws Error(io), Error(limit) beyond `limit` bytes, and the errors of
// expect_text().
std::string read_input(const std::string& path, std::size_t limit);

// Replaces CR LF with a newline. Returns whether there was any.
bool unify_newlines(std::string& text);
// The text of a corpus or a held-out text: read_input() with CR LF as a newline. Warns of CR LF unless quiet.
std::string read_corpus(const std::string& path, std::size_t limit, bool quiet);
std::string carriage_returns_warning(std::string_view name);

// Checks the spec of --encoding before any file is read. Lists belong to --encodings. Throws Error(usage).
void check_encoding(const Arguments& arguments);

// For a verb that takes a model and a text: if a text is in the model's place ("ordo generate Once upon a time" in
// quotes), throws Error(usage) or Error(io) that says where the text goes.
void check_operand(const Arguments& arguments);

enum class LineEnds { exact, plain };
// The text that prompt_options name. With LineEnds::plain, CR LF in a file or stdin is a newline, and the last newline,
// added by editors or echo, is dropped. -p is exact. Throws Error(usage) if there is no text and stdin is a terminal.
std::string read_prompt(const Arguments& arguments, LineEnds line_ends, std::size_t limit = 16u << 20);

// The lines of a text, without line ends. They take no memory besides the text.
class Lines {
public:
    explicit Lines(std::string text) : text_(std::move(text)) {}

    class Iterator {
    public:
        explicit Iterator(const char* at, const char* end) : at_(at), end_(end) {}
        std::string_view operator*() const { return {at_, static_cast<std::size_t>(stop() - at_)}; }
        Iterator& operator++() {
            at_ = stop() + 1;
            return *this;
        }
        bool operator==(std::default_sentinel_t) const { return at_ > end_; }

    private:
        const char* stop() const { return std::find(at_, end_, '\n'); }
        const char *at_, *end_;
    };
    Iterator begin() const { return Iterator(text_.data(), text_.data() + text_.size()); }
    static std::default_sentinel_t end() { return {}; }
    bool empty() const { return text_.find_first_not_of('\n') == text_.npos; } // each of them

private:
    std::string text_;
};
Lines read_lines(const Arguments& arguments);

// A file of a command line: its name there, "IN" or "--corpus", and its path, "-" for stdin. An empty path means no
// file.
struct NamedFile {
    std::string_view name;
    std::filesystem::path path;
};
// A verb never writes to its input, nor twice to one file. Throws Error(usage) if a file to write is also another one,
// through hard or symbolic links.
void check_written(std::span<const NamedFile> written, std::span<const NamedFile> read);

} // namespace ordo::tools
