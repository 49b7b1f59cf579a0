// SPDX-License-Identifier: MIT
// Verbs that are programs of their own next to `ordo`, which starts them. `make run` does not build them.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

extern const Verb train_verb, bench_verb;
extern const std::span<const Option> bench_shape_options; // which a model file excludes
int run_train(const Arguments& arguments);
int run_bench(const Arguments& arguments);

} // namespace ordo::tools
