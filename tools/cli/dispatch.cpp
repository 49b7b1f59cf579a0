// SPDX-License-Identifier: MIT
#include "tools/cli/dispatch.h"

#include "core/error.h"
#include "io/file.h"
#include "io/opened_files.h"
#include "tools/cli/completion.h"
#include "tools/cli/inputs.h"
#include "tools/cli/machine.h"
#include "tools/cli/mistakes.h"
#include "tools/terminal/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <system_error>
#include <unistd.h>
#include <vector>

// Of the libraries in this program. The Makefile links it into each program; the tests have none.
extern "C" [[gnu::weak]] const char ordo_build[];

namespace ordo::tools {

namespace {

std::string help_of(const Verb& verb, const Arguments& arguments) {
    return verb.help ? verb.help(arguments) : help_text(verb);
}

// Warns of a program that was linked with other libraries: it may know other encodings and options.
void warn_of_other_build(const std::filesystem::path& program, const std::filesystem::path& own) {
    if (!ordo_build) return;
    const std::string content = read_file(program, std::size_t{1} << 30);
    if (::memmem(content.data(), content.size(), ordo_build, std::strlen(ordo_build))) return;
    const bool older = std::filesystem::last_write_time(program) < std::filesystem::last_write_time(own);
    write_message("warning: " + program.filename().string() + (older ? " is older" : " is newer") +
                  " than ordo: run make");
}

// Replaces this process with another program. Throws Error(io) if that program has not been built.
[[noreturn]] void become(const Verb& verb, std::span<const char* const> args) {
    const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe");
    const std::string path = (own.parent_path() / verb.program).string();
    std::error_code error;
    if (std::filesystem::status(path, error).type() == std::filesystem::file_type::not_found)
        fail(ErrorCode::io, verb.name, ": not built yet: run make (it builds ", path, ")");
    const bool quiet = std::any_of(args.begin(), args.end(),
                                   [](const std::string_view word) { return word == "-q" || word == "--quiet"; });
    if (!quiet && std::filesystem::is_regular_file(path, error)) warn_of_other_build(path, own);
    std::vector<const char*> words{path.c_str()};
    words.insert(words.end(), args.begin(), args.end());
    words.push_back(nullptr);
    ::execv(path.c_str(), const_cast<char* const*>(words.data()));
    const std::string why = std::strerror(errno);
    fail(ErrorCode::io, path, ": ", why);
}

int run_verb(const Verb& verb, std::span<const char* const> args) {
    if (!verb.program.empty()) become(verb, args);
    const Arguments arguments(verb, args);
    if (arguments.has("help") || arguments.has("version")) {
        write_out(arguments.has("help") ? help_of(verb, arguments) : version_text());
        return 0;
    }
    const OpenedFiles opened; // no verb writes to them
    apply_common(arguments);
    check_encoding(arguments);
    check_models(arguments);
    check_operand(arguments);
    return verb.run(arguments);
}

int dispatch(std::span<const char* const> args) {
    if (args.empty()) {
        write_message("the verbs:\n" + verbs_text());
        fail(ErrorCode::usage, "expected a verb; ordo --help says more");
    }
    const std::string_view first = args[0];
    if (first == "-h" || first == "--help" || first == "help") {
        if (args.size() == 1) {
            write_out(help_text());
            return 0;
        }
        std::vector<const char*> words(args.begin() + 2, args.end());
        words.push_back("--help"); // with --help, no argument is missing
        return run_verb(find_verb(args[1]), words);
    }
    if (first == "--version" || first == "--man" || first == "--markdown") {
        write_out(first == "--version" ? version_text() : first == "--man" ? man_text() : markdown_text());
        return 0;
    }
    if (first == "--completion") {
        if (args.size() != 2) fail(ErrorCode::usage, "option --completion: expected bash, zsh or fish");
        write_out(completion_text(args[1]));
        return 0;
    }
    if (first == "--complete" && args.size() > 1) { // asked by these scripts
        write_out(completions(args[1], args.subspan(2)));
        return 0;
    }
    if (first.starts_with('-'))
        fail(ErrorCode::usage, "expected a verb before '", printable(first), "'; ordo --help lists them");
    return run_verb(find_verb(first), args.subspan(1));
}

} // namespace

int report_exception() noexcept {
    try {
        throw;
    } catch (const Error& error) {
        write_message(error.what());
        return static_cast<int>(error.code);
    } catch (const std::bad_alloc&) {
        write_message("out of memory");
    } catch (const std::length_error&) {
        write_message("out of memory: a size beyond what memory can hold");
    } catch (const std::exception& error) {
        try {
            write_message(printable(error.what(), 400));
            return static_cast<int>(ErrorCode::failure);
        } catch (const std::bad_alloc&) {
            write_message("out of memory");
        }
    }
    return static_cast<int>(ErrorCode::limit);
}

int run_program(std::span<const char* const> args, const Verb* only) noexcept {
    try {
        return only ? run_verb(*only, args) : dispatch(args);
    } catch (...) {
        return report_exception();
    }
}

} // namespace ordo::tools
