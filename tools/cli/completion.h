// SPDX-License-Identifier: MIT
// What stands beside the list of verbs, and only who completes a command line asks for.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

// What a verb's first argument without a dash may be by name; none: it is a file.
std::vector<std::string_view> operand_names(const Verb& verb);

} // namespace ordo::tools
