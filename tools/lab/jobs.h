// SPDX-License-Identifier: MIT
// A sweep over encodings and seeds as shell commands, for machines that take them one by one.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// One shell command per line: `ordo train` on --corpus for each encoding and seed, with the options of --train, and
// `ordo lab tasks` for each encoding, seed and task of --tasks. The commands write into the directory. Throws
// Error(usage) if both --corpus and --tasks are missing.
std::vector<std::string> jobs_of(const Request& request, const std::filesystem::path& directory);

} // namespace ordo::lab
