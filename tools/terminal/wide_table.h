// SPDX-License-Identifier: MIT
// Tables wider than a terminal.
#pragma once

#include "tools/terminal/output.h"

namespace ordo::tools {

// A table as text of limited width. A wider table becomes blocks of columns below each other; each block begins with
// the columns that tell the rows apart. If these leave no room for others, the rows are written one after another, with
// one or more lines for each cell.
std::string in_width(const Figures& figures, int width);

// The rows one after another, with one or more lines for each cell.
std::string records(const Figures& figures, int width);

// Lines for stdout. On a terminal they are wrapped at whole words, and each continuation line has the same indent.
std::string for_stdout(std::string_view lines);

// A table as text for stdout; on a terminal, in its width.
std::string for_stdout(const Figures& figures);

} // namespace ordo::tools
