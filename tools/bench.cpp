// SPDX-License-Identifier: MIT
// The program `ordo-bench`: the verb bench of `ordo`, which starts it.
#include "tools/cli/dispatch.h"
#include "tools/cli/process.h"
#include "tools/verbs/programs.h"

int main(int argc, char** argv) {
    ordo::tools::Verb verb = ordo::tools::bench_verb;
    verb.program = {};
    verb.run = ordo::tools::run_bench;
    return ordo::tools::run_program(ordo::tools::begin_process(argc, argv), &verb);
}
