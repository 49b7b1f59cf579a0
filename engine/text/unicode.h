// SPDX-License-Identifier: MIT
// Unicode for tokenizers: UTF-8 to code points and back, normal forms, categories. utf8proc (2.8: Unicode 15) has the
// tables (unicode_tables.h). Text may contain any bytes. A byte outside well-formed sequences counts as one character,
// U+FFFD, and no function here changes it.
#pragma once

#include "text/allowance.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace ordo::unicode {

inline constexpr char32_t replacement = 0xfffd;

struct Char {
    char32_t point;
    std::size_t length; // in bytes
};
// The first and last characters of a non-empty text.
Char first_char(std::string_view text);
Char last_char(std::string_view text);
std::size_t count_chars(std::string_view text);
void append(char32_t point, std::string& out);

// Unicode Standard Annex 15, in linear time, except O(n log n) in a run of combining marks. allowance: checked before
// the text grows; its Error(limit) is passed on.
enum class Form { nfc, nfd, nfkc, nfkd };
std::string normalize(std::string_view text, Form form, const Allowance* allowance = nullptr);

// Appends the lower case of one character, independent of its neighbours. It is one character, except for U+0130, which
// becomes two.
void append_lower(char32_t point, std::string& out);

bool is_white_space(char32_t point);     // the property White_Space
bool is_number(char32_t point);          // Nd, Nl, No
bool is_punctuation(char32_t point);     // P*, and all of ASCII except letters, digits and controls
bool is_mark(char32_t point);            // M*
bool is_nonspacing_mark(char32_t point); // Mn
bool is_other(char32_t point);           // Cc, Cf, Co
bool is_word(char32_t point);            // \w of Unicode Technical Standard 18, annex C

// The columns of a character in a terminal: 2 for wide East Asian ones, 0 for marks and controls (utf8proc's wcwidth).
int columns_of(char32_t point);

// The bytes of the first extended grapheme cluster (Unicode Standard Annex 29) of a non-empty text.
std::size_t grapheme_length(std::string_view text);

} // namespace ordo::unicode
