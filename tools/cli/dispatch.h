// SPDX-License-Identifier: MIT
// A run of the program `ordo`, from its arguments to its exit code.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

// Finds and runs the verb. Turns an exception into one line on stderr and an exit code. With `only`, the arguments are
// those of this verb.
int run_program(std::span<const char* const> args, const Verb* only = nullptr) noexcept;

// For a handler of all exceptions: reports the current one on stderr and returns its exit code. Works without memory.
int report_exception() noexcept;

} // namespace ordo::tools
