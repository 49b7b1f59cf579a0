// SPDX-License-Identifier: MIT
// A sweep over encodings and seeds as commands, for machines that take them one by one.
#pragma once

#include "tools/lab/lab.h"

namespace ordo::lab {

// A command a line, for a shell: `ordo train` on --corpus for each encoding and seed, with the options of --train, and
// `ordo lab tasks` for each encoding, seed and task of --tasks. What they write lies in the directory. Throws
// Error(usage) if neither is given.
std::vector<std::string> jobs_of(const Request& request, const std::filesystem::path& directory);

} // namespace ordo::lab
