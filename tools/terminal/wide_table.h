// SPDX-License-Identifier: MIT
// Tables that are wider than a terminal.
#pragma once

#include "tools/terminal/output.h"

namespace ordo::tools {

// A table as text, in lines of at most so many columns: what is wider becomes blocks of columns below each other, each
// of which begins with those that tell the rows apart. Where these leave no room for others, the rows are written one
// after another, a line or more for each cell.
std::string in_width(const Figures& figures, int width);

// Rows one after another, a line or more for each cell.
std::string records(const Figures& figures, int width);

// Lines for stdout: if that is a terminal, of whole words in its width, and what is moved to a new line as far
// indented.
std::string for_stdout(std::string_view lines);

// As text for stdout: in its width, if that is a terminal.
std::string for_stdout(const Figures& figures);

} // namespace ordo::tools
