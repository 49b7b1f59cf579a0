// SPDX-License-Identifier: MIT
// The program `ordo`: finds the verb, runs it, turns errors into one line and an exit code.
#include "core/error.h"
#include "tools/address_space.h"
#include "tools/machine.h"
#include "tools/output.h"
#include "tools/signals.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace {

using namespace ordo;
using namespace ordo::tools;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(ORDO_INTERNAL_GEMM)
// Runs before the libraries are initialised, which OpenBLAS without memory never finishes.
void check_address_space(int, char**, char** environment) {
    if (has_space_for_blas(initial_blas_threads(environment) - 1)) return;
    constexpr std::string_view text = "ordo: out of memory: too little address space for OpenBLAS\n";
    if (::write(STDERR_FILENO, text.data(), text.size()) < 0) ::_exit(4);
    ::_exit(4);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = check_address_space;
#endif

// If a standard stream is closed, the next file that is opened would become it, and be read or
// written in its place. Each gets a descriptor on which every use fails.
void hold_standard_streams() {
    for (int fd = 0; fd < 3; ++fd)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int dispatch(std::span<const char* const> args) {
    if (args.empty()) fail(ErrorCode::usage, "expected a verb; ordo --help lists them");
    const std::string_view first = args[0];
    if (first == "-h" || first == "--help" || first == "help") {
        write_out(args.size() > 1 && first == "help" ? help_text(find_verb(args[1])) : help_text());
        return 0;
    }
    if (first == "--version" || first == "--man" || first == "--markdown") {
        write_out(first == "--version" ? version_text() : first == "--man" ? man_text() : markdown_text());
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

int guarded(std::span<const char* const> args) {
    try {
        return dispatch(args);
    } catch (const Error& error) {
        write_message(error.what());
        return static_cast<int>(error.code);
    } catch (const std::bad_alloc&) {
        write_message("out of memory");
        return static_cast<int>(ErrorCode::limit);
    } catch (const std::length_error&) {
        write_message("out of memory: a size beyond what memory can hold");
        return static_cast<int>(ErrorCode::limit);
    } catch (const std::exception& error) {
        write_message(printable(error.what(), 400));
        return static_cast<int>(ErrorCode::failure);
    }
}

} // namespace

int main(int argc, char** argv) {
    hold_standard_streams();
    install_signal_handlers();
    const auto count = static_cast<std::size_t>(argc > 0 ? argc - 1 : 0);
    return guarded({argv + (argc > 0 ? 1 : 0), count});
}
