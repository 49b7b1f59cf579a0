// SPDX-License-Identifier: MIT
#include "bench/programs/frame.h"

#include "tools/cli/dispatch.h"
#include "tools/cli/process.h"
#include "tools/terminal/output.h"

namespace ordo::bench {
namespace {

std::string help_of(const tools::Verb& verb) {
    std::string text = help_text(verb);
    const std::string as_verb = "ordo " + std::string(verb.name);
    const std::size_t at = text.find(as_verb);
    return at == std::string::npos ? text : text.replace(at, as_verb.size(), verb.name);
}

} // namespace

int run_program(const tools::Verb& verb, int argc, char** argv) {
    tools::widen_thread_stacks();
    try {
        const std::size_t count = argc > 0 ? static_cast<std::size_t>(argc) - 1 : 0;
        const tools::Arguments arguments(verb, {argv + (argc > 0 ? 1 : 0), count});
        if (arguments.has("help") || arguments.has("version")) {
            tools::write_out(arguments.has("help") ? help_of(verb) : tools::version_text());
            return 0;
        }
        tools::apply_common(arguments);
        return verb.run(arguments);
    } catch (...) {
        return tools::report_exception();
    }
}

} // namespace ordo::bench
