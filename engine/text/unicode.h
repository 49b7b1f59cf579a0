// SPDX-License-Identifier: MIT
// Unicode for tokenizers: UTF-8 to code points and back, normal forms, categories. utf8proc (2.8: Unicode 15)
// knows the tables; unicode.cpp is its only door. Text may hold any bytes: one that is no part of a well-formed
// sequence counts as a character of its own that stands for U+FFFD, and no function here changes it.
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
// The characters that a text which is not empty begins and ends with.
Char first_char(std::string_view text);
Char last_char(std::string_view text);
std::size_t count_chars(std::string_view text);
void append(char32_t point, std::string& out);

// Unicode Standard Annex 15, in time linear in the text but for O(n log n) in a run of combining marks.
// allowance: asked before the text grows; its Error(limit) passes through.
enum class Form { nfc, nfd, nfkc, nfkd };
std::string normalize(std::string_view text, Form form, const Allowance* allowance = nullptr);

// Appends the lower case of one character: without regard to its neighbours, and one character but for
// U+0130, which becomes two.
void append_lower(char32_t point, std::string& out);

bool is_white_space(char32_t point);     // the property White_Space
bool is_number(char32_t point);          // Nd, Nl, No
bool is_punctuation(char32_t point);     // P*, and all of ASCII that is neither letter, digit nor control
bool is_mark(char32_t point);            // M*
bool is_nonspacing_mark(char32_t point); // Mn
bool is_other(char32_t point);           // Cc, Cf, Co
bool is_word(char32_t point);            // \w of Unicode Technical Standard 18, annex C

// Columns that a terminal gives a character: 2 for East Asian wide ones, 0 for marks and controls (utf8proc's wcwidth).
int columns_of(char32_t point);

// Bytes of the extended grapheme cluster (Unicode Standard Annex 29) that a text which is not empty begins with.
std::size_t grapheme_length(std::string_view text);

} // namespace ordo::unicode
