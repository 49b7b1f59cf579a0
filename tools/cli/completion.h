// SPDX-License-Identifier: MIT
// Facts about verbs that only completion needs.
#pragma once

#include "tools/cli/options.h"

namespace ordo::tools {

// The names that a verb's first operand may have. Empty if it is a file.
std::vector<std::string_view> operand_names(const Verb& verb);

// The lines that a shell's script reads: each possible word, and its description after a tab. A line that begins with a
// tab stands for files. pieces: the words after the program's name up to the cursor, where bash cuts them.
std::string completions(std::string_view shell, std::span<const char* const> pieces);

} // namespace ordo::tools
