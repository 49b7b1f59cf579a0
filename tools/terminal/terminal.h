// SPDX-License-Identifier: MIT
// Text for terminals and Markdown, without unintended escape sequences or markup.
#pragma once

#include <string>
#include <string_view>

namespace ordo::tools {

// write_out() and write_message() escape unprintable characters except newline and tab when they write to a terminal,
// because a text may come from a file or a model. A file or a pipe gets the exact bytes. This function never escapes:
// it is for our own text with colours and cursor movements, whose other parts are printable.
void write_styled(std::string_view text);

// Text that Markdown does not read as HTML, a link or, in a table, the end of a cell.
std::string escaped_markdown(std::string_view text, bool in_table = false);

} // namespace ordo::tools
