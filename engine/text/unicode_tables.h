// SPDX-License-Identifier: MIT
// The tables of Unicode, for unicode.cpp alone. utf8proc has them, which only unicode_tables.cpp includes; in a browser
// tools/web/doors/unicode_tables.cpp takes its place.
#pragma once

#include "text/unicode.h"

namespace ordo::unicode::tables {

// The general categories, in utf8proc's order.
// clang-format off
enum class Category {
    cn, lu, ll, lt, lm, lo, mn, mc, me, nd, nl, no, pc, pd, ps, pe, pi, pf, po,
    sm, sc, sk, so, zs, zl, zp, cc, cf, cs, co
};
// clang-format on
Category category(char32_t point);
char32_t lower(char32_t point); // the same character if it has no lower case of one character
int columns(char32_t point);
// Of a run of UTF-8.
void append_normalized(std::string_view text, Form form, const Allowance* allowance, std::string& out);
// Of a text that begins with UTF-8: the first cluster's bytes, which end before other bytes.
std::size_t grapheme_length(std::string_view text);

} // namespace ordo::unicode::tables
