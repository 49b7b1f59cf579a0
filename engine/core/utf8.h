// SPDX-License-Identifier: MIT
// UTF-8 as Unicode 15, table 3-7, defines it: no overlong forms, no surrogates, nothing past U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace ordo {

// Bytes of the well-formed sequence that text starts with; 0 if it starts with none.
std::size_t utf8_length(std::string_view text);

// Bytes of the longest prefix of text that does not end inside a sequence which more bytes could
// still complete. Malformed bytes are passed through: nothing could complete them.
std::size_t utf8_complete_prefix(std::string_view text);

bool utf8_valid(std::string_view text);

// Bytes at the start of text that a terminal must not get: a control character (C0, DEL, C1), a byte that is not
// UTF-8, or a character that reorders the text or begins a line (UAX 9's marks and overrides, U+2028, U+2029). 0 if the
// first character is none of these.
std::size_t utf8_unprintable(std::string_view text);

} // namespace ordo
