// SPDX-License-Identifier: MIT
#include "text/unicode.h"

#include "core/utf8.h"
#include "text/unicode_tables.h"

#include <algorithm>

namespace ordo::unicode {

using tables::Category;

namespace {

bool is_ascii(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

} // namespace

Char first_char(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
    switch (utf8_length(text)) {
    case 1:
        return {byte(0), 1};
    case 2:
        return {(byte(0) & 0x1f) << 6 | (byte(1) & 0x3f), 2};
    case 3:
        return {(byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
    case 4:
        return {(byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
    default:
        return {replacement, 1};
    }
}

Char last_char(std::string_view text) {
    for (std::size_t length = 2; length <= std::min<std::size_t>(4, text.size()); ++length) {
        const std::string_view tail = text.substr(text.size() - length);
        if (utf8_length(tail) == length) return first_char(tail);
    }
    return first_char(text.substr(text.size() - 1));
}

std::size_t count_chars(std::string_view text) {
    std::size_t n = 0;
    for (; !text.empty(); ++n) text.remove_prefix(std::max<std::size_t>(1, utf8_length(text)));
    return n;
}

void append(char32_t point, std::string& out) {
    const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    const auto rest = [&](int shift) { put(0x80 | (point >> shift & 0x3f)); };
    if (point < 0x80) return put(point);
    if (point < 0x800) return put(0xc0 | point >> 6), rest(0);
    if (point < 0x10000) return put(0xe0 | point >> 12), rest(6), rest(0);
    if (point <= 0x10ffff) put(0xf0 | point >> 18), rest(12), rest(6), rest(0);
}

std::string normalize(std::string_view text, Form form, const Allowance* allowance) {
    if (is_ascii(text)) return std::string(text);
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        std::size_t valid = 0;
        while (const std::size_t length = utf8_length(text.substr(valid))) valid += length;
        tables::append_normalized(text.substr(0, valid), form, allowance, out);
        text.remove_prefix(valid);
        if (text.empty()) break;
        out += text.front();
        text.remove_prefix(1);
    }
    return out;
}

void append_lower(char32_t point, std::string& out) {
    if (point == 0x130) { // the only character whose lower case is two: i and a dot above
        out += "i\u0307";
        return;
    }
    append(tables::lower(point), out);
}

bool is_white_space(char32_t point) {
    return (point >= 9 && point <= 13) || point == ' ' || point == 0x85 || point == 0xa0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 || point == 0x202f ||
           point == 0x205f || point == 0x3000;
}

bool is_number(char32_t point) {
    const auto category = tables::category(point);
    return category >= Category::nd && category <= Category::no;
}

bool is_punctuation(char32_t point) {
    if (point < 0x80)
        return (point >= 33 && point <= 47) || (point >= 58 && point <= 64) || (point >= 91 && point <= 96) ||
               (point >= 123 && point <= 126);
    const auto category = tables::category(point);
    return category >= Category::pc && category <= Category::po;
}

bool is_mark(char32_t point) {
    const auto category = tables::category(point);
    return category >= Category::mn && category <= Category::me;
}

bool is_nonspacing_mark(char32_t point) {
    return tables::category(point) == Category::mn;
}

bool is_other(char32_t point) {
    const auto category = tables::category(point);
    return category == Category::cc || category == Category::cf || category == Category::co;
}

// Alphabetic is letters, Nl, some marks, and the enclosed letters among the symbols (PropList, Other_Alphabetic).
bool is_word(char32_t point) {
    const auto category = tables::category(point);
    const bool letter = category >= Category::lu && category <= Category::lo;
    const bool enclosed = (point >= 0x24b6 && point <= 0x24e9) || (point >= 0x1f130 && point <= 0x1f149) ||
                          (point >= 0x1f150 && point <= 0x1f169) || (point >= 0x1f170 && point <= 0x1f189);
    const bool joiner = point == 0x200c || point == 0x200d;
    return letter || is_mark(point) || category == Category::nd || category == Category::nl ||
           category == Category::pc || enclosed || joiner;
}

int columns_of(char32_t point) {
    return tables::columns(point);
}

std::size_t grapheme_length(std::string_view text) {
    return utf8_length(text) == 0 ? 1 : tables::grapheme_length(text);
}

} // namespace ordo::unicode
