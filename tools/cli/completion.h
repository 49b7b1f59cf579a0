// SPDX-License-Identifier: MIT
// Facts about verbs that only completion needs.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

// The names that a verb's first operand may have. Empty if it is a file.
std::vector<std::string_view> operand_names(const Verb& verb);

} // namespace ordo::tools
