// SPDX-License-Identifier: MIT
// The frame of a program other than `ordo`.
#pragma once

#include "tools/cli/machine.h"

namespace ordo::bench {

// Parses the arguments, sets the threads and runs. Turns an Error into a line and an exit code.
int run_program(const tools::Verb& verb, int argc, char** argv);

} // namespace ordo::bench
