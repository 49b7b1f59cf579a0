// SPDX-License-Identifier: MIT
#include "tools/cli/program.h"

#include "core/error.h"
#include "tools/cli/machine.h"
#include "tools/cli/output.h"

namespace ordo::tools {

namespace {

int dispatch(std::span<const char* const> args) {
    if (args.empty()) fail(ErrorCode::usage, "expected a verb; ordo --help lists them");
    const std::string_view first = args[0];
    if (first == "-h" || first == "--help" || first == "help") {
        write_out(args.size() > 1 ? help_text(find_verb(args[1])) : help_text());
        return 0;
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
    if (first.starts_with('-'))
        fail(ErrorCode::usage, "expected a verb before '", printable(first), "'; ordo --help lists them");
    const Verb& verb = find_verb(first);
    const Arguments arguments(verb, args.subspan(1));
    if (arguments.has("help") || arguments.has("version")) {
        const bool help = arguments.has("help");
        write_out(!help ? version_text() : verb.help ? verb.help(arguments) : help_text(verb));
        return 0;
    }
    apply_common(arguments);
    return verb.run(arguments);
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

int run_program(std::span<const char* const> args) noexcept {
    try {
        return dispatch(args);
    } catch (...) {
        return report_exception();
    }
}

} // namespace ordo::tools
