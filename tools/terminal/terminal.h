// SPDX-License-Identifier: MIT
// What goes to terminals and to Markdown without becoming an escape or markup there.
#pragma once

#include <string>
#include <string_view>

namespace ordo::tools {

// write_out() and write_message() escape what is not printable, newline and tab apart, where they write to a
// terminal: a text may come from a file or a model. A file or a pipe gets the bytes as they are. This one never
// escapes: it is for text with colours and movements of our own, whose other parts are printable.
void write_styled(std::string_view text);

// Text that Markdown takes neither for HTML nor for a link, nor in a table for the end of a cell.
std::string escaped_markdown(std::string_view text, bool in_table = false);

} // namespace ordo::tools
