// SPDX-License-Identifier: MIT
// The process needs this before its arguments are read.
#pragma once

#include <span>

namespace ordo::tools {

// Holds the standard streams and installs the handlers of signals; returns the arguments after the program's name.
// Linking it also checks the address space, before OpenBLAS is initialised.
std::span<const char* const> begin_process(int argc, char** argv);

} // namespace ordo::tools
