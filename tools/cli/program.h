// SPDX-License-Identifier: MIT
// A run of the program `ordo`, from its arguments to its exit code.
#pragma once

#include <span>

namespace ordo::tools {

// Finds the verb and runs it; what is thrown becomes one line on stderr and an exit code.
int run_program(std::span<const char* const> args) noexcept;

// For a handler of all exceptions: says on stderr what the current one is, and returns its exit code. Does
// without memory where there is none.
int report_exception() noexcept;

} // namespace ordo::tools
