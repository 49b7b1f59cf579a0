// SPDX-License-Identifier: MIT
// Text that the program is given: --prompt, --file or stdin.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

inline constexpr Option prompt_options[] = {
    {.letter = 'p', .name = "prompt", .kind = Kind::text, .value = "TEXT", .help = "The text."},
    {.letter = 'f',
     .name = "file",
     .kind = Kind::path,
     .value = "FILE",
     .help = "Read FILE; - is stdin, as is a pipe without -p."},
    {.name = "special", .help = "Read <|endoftext|> and its like as special tokens."},
};

// Those of a verb whose text is no prompt.
inline constexpr std::span<const Option> text_options = std::span(prompt_options).first(2);

// Throws Error(usage) for the beginning of a file that is no text but one of another kind that is known.
void expect_text(std::string_view begin, const std::string& where);

// All of a file, a pipe or, for "-", stdin. Throws Error(io), Error(limit) beyond limit bytes, or what expect_text()
// throws.
std::string read_input(const std::string& path, std::size_t limit);

// Reads CR LF as the newline that it stands for. Whether there was any.
bool unify_newlines(std::string& text);
// The text of a corpus or of a held-out text: read_input(), in which CR LF is a newline, with a warning unless quiet.
std::string read_corpus(const std::string& path, std::size_t limit, bool quiet);
std::string carriage_returns_warning(std::string_view name);

// Checks the spec of --encoding before anything is read; a list is for --encodings. Throws Error(usage).
void check_encoding(const Arguments& arguments);

// Where a verb takes a model and a text, and a text stands in the model's place ("ordo generate Once upon a time" in
// quotes): throws Error(usage) or Error(io) that says where it goes.
void check_operand(const Arguments& arguments);

enum class LineEnds { exact, plain };
// The text that prompt_options name. With plain line ends, CR LF in a file or in stdin is a newline, and the last
// newline, which an editor or echo puts there, is dropped; -p is exact. Throws Error(usage) if there is no text and
// stdin is a terminal.
std::string read_prompt(const Arguments& arguments, LineEnds line_ends, std::size_t limit = 16u << 20);

// The same line by line, without what ends them.
std::vector<std::string> read_lines(const Arguments& arguments);

// A file of a command line: what names it there, "IN" or "--corpus", and its path, "-" for stdin; an empty
// path names none.
struct NamedFile {
    std::string_view name;
    std::filesystem::path path;
};
// No verb writes onto what it reads, nor twice onto one file. Throws Error(usage) if one of those to be
// written is also another, through links of either kind.
void check_written(std::span<const NamedFile> written, std::span<const NamedFile> read);

} // namespace ordo::tools
