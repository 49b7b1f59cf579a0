// SPDX-License-Identifier: MIT
// A run of the program `ordo`, from its arguments to its exit code.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

// Finds the verb and runs it; an exception becomes one line on stderr and an exit code. With `only`, the arguments are
// those of this verb.
int run_program(std::span<const char* const> args, const Verb* only = nullptr) noexcept;

// For a handler of all exceptions: says on stderr what the current one is, and returns its exit code. Does
// without memory where there is none.
int report_exception() noexcept;

} // namespace ordo::tools
