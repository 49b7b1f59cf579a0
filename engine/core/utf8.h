// SPDX-License-Identifier: MIT
// UTF-8 as in Unicode 15, table 3-7: without overlong forms, surrogates and code points past U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace ordo {

// The bytes of the well-formed sequence at the start of text; 0 if there is none.
std::size_t utf8_length(std::string_view text);

// The bytes of the longest prefix of text that does not end inside a sequence which more bytes could complete.
// Malformed bytes count as complete, as nothing could complete them.
std::size_t utf8_complete_prefix(std::string_view text);

bool utf8_valid(std::string_view text);

// The bytes at the start of text that a terminal must not get: a control character (C0, DEL, C1), a byte that is not
// UTF-8, or a character that reorders the text or begins a line (UAX 9's marks and overrides, U+2028, U+2029). 0 if the
// first character is none of these.
std::size_t utf8_unprintable(std::string_view text);

} // namespace ordo
