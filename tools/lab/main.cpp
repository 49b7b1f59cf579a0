// SPDX-License-Identifier: MIT
// The program `ordo-lab`: the verb lab of `ordo`, which starts it.
#include "tools/cli/dispatch.h"
#include "tools/cli/process.h"
#include "tools/lab/lab.h"

int main(int argc, char** argv) {
    return ordo::tools::run_program(ordo::tools::begin_process(argc, argv), &ordo::tools::lab_program());
}
