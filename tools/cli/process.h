// SPDX-License-Identifier: MIT
// Prepares the process before its arguments are read.
#pragma once

#include <span>

namespace ordo::tools {

// Holds the standard streams, installs the signal handlers and widens the stacks of threads. Returns the arguments
// after the program's name. Programs that link it also check the address space before OpenBLAS is initialised.
std::span<const char* const> begin_process(int argc, char** argv);

// Gives later threads a stack of at least 1 MiB. By default they have the size of `ulimit -s`, and of 64 KiB OpenBLAS
// takes 60 for its data of each thread. OMP_STACKSIZE overrides it.
void widen_thread_stacks();

} // namespace ordo::tools
