// SPDX-License-Identifier: MIT
// Prepares the process before its arguments are read.
#pragma once

#include <span>

namespace ordo::tools {

// Holds the standard streams and installs the signal handlers. Returns the arguments after the program's name. Programs
// that link it also check the address space before OpenBLAS is initialised.
std::span<const char* const> begin_process(int argc, char** argv);

} // namespace ordo::tools
