// SPDX-License-Identifier: MIT
// The program `ordo`.
#include "tools/cli/dispatch.h"
#include "tools/cli/process.h"

int main(int argc, char** argv) {
    return ordo::tools::run_program(ordo::tools::begin_process(argc, argv));
}
