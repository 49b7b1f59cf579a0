// SPDX-License-Identifier: MIT
#include "tools/cli/inputs.h"

#include "core/error.h"
#include "encoding/base/registry.h"
#include "encoding/base/spec.h"
#include "io/file.h"
#include "io/file_kind.h"
#include "io/opened_files.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <system_error>
#include <unistd.h>

namespace ordo::tools {

void expect_text(std::string_view begin, const std::string& where) {
    begin = begin.substr(0, file_kind_bytes);
    const FileKind* kind = binary_kind(begin);
    if (kind || like_safetensors(begin))
        fail(ErrorCode::usage, where, ": expected a text, found ", kind ? kind->name : "a safetensors file");
}

std::string read_input(const std::string& path, std::size_t limit) {
    const bool is_stdin = path == "-";
    const std::string where = is_stdin ? "standard input" : printable_path(path);
    const Descriptor opened(is_stdin ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!is_stdin && opened.get() < 0) fail(ErrorCode::io, where, ": ", std::strerror(errno));
    const int fd = is_stdin ? STDIN_FILENO : opened.get();
    if (struct stat status{}; ::fstat(fd, &status) == 0) OpenedFiles::note(status);

    std::string text;
    while (true) {
        const std::size_t size = text.size();
        if (size > limit) fail(ErrorCode::limit, where, ": expected at most ", limit, " bytes of text, found more");
        text.resize(size + 65'536);
        const ssize_t n = ::read(fd, text.data() + size, 65'536);
        // A process that shares our pipe or terminal may have made it nonblocking.
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            pollfd wait{fd, POLLIN, 0};
            ::poll(&wait, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            fail(ErrorCode::io, where, ": ", std::strerror(errno));
        }
        text.resize(size + static_cast<std::size_t>(n > 0 ? n : 0));
        // A wrong kind of file is reported before its size. A pipe may return less than file_kind_bytes at a time.
        if (n == 0 || (size < file_kind_bytes && text.size() >= file_kind_bytes)) expect_text(text, where);
        if (n == 0) return text;
    }
}

namespace {

std::string first_bytes(const std::string& path) {
    std::string start(file_kind_bytes, '\0');
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    const ssize_t n = file.get() < 0 ? 0 : ::read(file.get(), start.data(), start.size());
    start.resize(std::max<ssize_t>(n, 0));
    return start;
}

} // namespace

void check_encoding(const Arguments& arguments) {
    for (const OptionGroup& group : arguments.verb().groups)
        for (const Option& option : group.options) {
            if (option.name != "encoding" || !arguments.has(option.name)) continue; // the alias takes a list
            const std::string spec = arguments.text(option.name);
            if (spec.empty()) fail(ErrorCode::usage, "option --encoding: expected a spec, found nothing");
            encodings_named(parse_spec(spec));
        }
}

void check_operand(const Arguments& arguments) {
    const bool takes_prompt = arguments.offers("prompt"), takes_text = takes_prompt || arguments.offers("file");
    if (arguments.verb().operand != "MODEL" || !takes_text || !arguments.has_operand()) return;
    if (arguments.has("file") || (takes_prompt && arguments.has("prompt"))) return;
    const std::string operand = arguments.operand();
    const char* where = takes_prompt ? "; a text goes after -p" : "; the file of a text goes after -f";
    std::error_code error;
    if (std::filesystem::exists(operand, error) || error) {
        const std::string start =
            std::filesystem::is_regular_file(operand, error) ? first_bytes(operand) : std::string();
        const std::string ending = std::filesystem::path(operand).extension();
        const bool named_as_a_model = ending == ".safetensors" || ending == ".gguf" || ending == ".bin";
        if (!named_as_a_model && binary_kind(start) == nullptr && text_kind(start, false) == "a text")
            fail(ErrorCode::model, printable_path(operand),
                 ": expected a model, found a text; the file of a text goes after -f");
        return; // the error of opening it gives the reason
    }
    const bool on_a_server =
        operand.find("://") != std::string::npos ||
        (std::count(operand.begin(), operand.end(), '/') == 1 && operand.find_first_of(" .") == std::string::npos);
    if (on_a_server) return; // as above
    const bool like_a_file = operand.find(' ') == std::string::npos && operand.find_first_of("./") != std::string::npos;
    if (like_a_file) fail(ErrorCode::io, printable(operand), ": there is no such file", where);
    fail(ErrorCode::usage, arguments.verb().name, ": expected a model file, found '", printable(operand), "'", where);
}

bool unify_newlines(std::string& text) {
    std::size_t kept = std::min(text.find("\r\n"), text.size());
    const bool any = kept < text.size();
    for (std::size_t at = kept; at < text.size(); ++at)
        if (text[at] != '\r' || at + 1 == text.size() || text[at + 1] != '\n') text[kept++] = text[at];
    text.resize(kept);
    return any;
}

std::string carriage_returns_warning(std::string_view name) {
    return printable(name) + ": lines end with CR LF, which is read as a newline";
}

std::string read_corpus(const std::string& path, std::size_t limit, bool quiet) {
    std::string text = read_input(path, limit);
    if (unify_newlines(text) && !quiet)
        write_message("warning: " + carriage_returns_warning(path == "-" ? "standard input" : path));
    return text;
}

std::string read_prompt(const Arguments& arguments, LineEnds line_ends, std::size_t limit) {
    if (arguments.has("prompt")) {
        if (arguments.has("file")) fail(ErrorCode::usage, "expected --prompt or --file, found both");
        return arguments.text("prompt");
    }
    if (!arguments.has("file") && ::isatty(STDIN_FILENO) == 1)
        fail(ErrorCode::usage, arguments.verb().name, ": expected -p TEXT, -f FILE or a text piped to stdin");
    std::string text = read_input(arguments.has("file") ? arguments.text("file") : "-", limit);
    if (text.empty() && (!arguments.has("file") || arguments.text("file") == "-"))
        fail(ErrorCode::usage, arguments.verb().name, ": standard input: expected a text, found nothing");
    if (line_ends == LineEnds::exact) return text;
    unify_newlines(text);
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

Lines read_lines(const Arguments& arguments) {
    std::string text = read_prompt(arguments, LineEnds::plain);
    unify_newlines(text);
    return Lines(std::move(text));
}

void check_written(std::span<const NamedFile> written, std::span<const NamedFile> read) {
    const auto expect_other = [](const NamedFile& a, const NamedFile& b) {
        if (a.path.empty() || b.path.empty()) return;
        if (same_file(a.path, b.path == "-" ? std::filesystem::path("/dev/stdin") : b.path))
            fail(ErrorCode::usage, a.name, ": expected another file than that of ", b.name, ", found ",
                 printable_path(a.path));
    };
    for (const NamedFile& a : written) {
        for (const NamedFile& b : read) expect_other(a, b);
        for (const NamedFile* b = written.data(); b != &a; ++b) expect_other(a, *b);
    }
}

} // namespace ordo::tools
