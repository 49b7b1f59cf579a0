// SPDX-License-Identifier: MIT
#include "text/unicode.h"

#include "core/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

namespace ordo::unicode {
namespace {

utf8proc_int32_t number(char32_t point) {
    return static_cast<utf8proc_int32_t>(point);
}

int combining_class(utf8proc_int32_t point) {
    return utf8proc_get_property(point)->combining_class;
}

// The decomposition of each character in a run of UTF-8; marks are not yet ordered.
std::vector<utf8proc_int32_t> decompose(std::string_view text, bool compatible, const Allowance* allowance) {
    const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                        (compatible ? static_cast<int>(UTF8PROC_COMPAT) : 0));
    std::vector<utf8proc_int32_t> points;
    points.reserve(text.size());
    utf8proc_int32_t parts[32]; // the longest decomposition of a character has 18 (U+FDFA)
    int boundary = 0;
    const std::size_t bytes = text.size();
    while (!text.empty()) {
        if (allowance != nullptr) allowance->check_growth(bytes, points.size());
        const Char next = first_char(text);
        const auto n = utf8proc_decompose_char(number(next.point), parts, std::size(parts), options, &boundary);
        for (utf8proc_ssize_t i = 0; i < n; ++i) points.push_back(parts[i]);
        text.remove_prefix(next.length);
    }
    return points;
}

// Sorts the marks between two starters by class, stably. utf8proc swaps neighbours instead, which takes quadratic time.
void order_marks(std::vector<utf8proc_int32_t>& points) {
    const auto is_starter = [](utf8proc_int32_t point) { return combining_class(point) == 0; };
    for (auto at = points.begin(); at != points.end();) {
        at = std::find_if_not(at, points.end(), is_starter);
        const auto end = std::find_if(at, points.end(), is_starter);
        if (end - at > 1)
            std::stable_sort(at, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
        at = end;
    }
}

void append_normalized(std::string_view text, Form form, const Allowance* allowance, std::string& out) {
    auto points = decompose(text, form == Form::nfkc || form == Form::nfkd, allowance);
    order_marks(points);
    auto n = static_cast<utf8proc_ssize_t>(points.size());
    if (form == Form::nfc || form == Form::nfkc)
        n = utf8proc_normalize_utf32(points.data(), n,
                                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; ++i) append(static_cast<char32_t>(points[i]), out);
}

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
    utf8proc_uint8_t bytes[4];
    const auto n = utf8proc_encode_char(number(point), bytes);
    out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}

std::string normalize(std::string_view text, Form form, const Allowance* allowance) {
    if (is_ascii(text)) return std::string(text);
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        std::size_t valid = 0;
        while (const std::size_t length = utf8_length(text.substr(valid))) valid += length;
        append_normalized(text.substr(0, valid), form, allowance, out);
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
    append(static_cast<char32_t>(utf8proc_tolower(number(point))), out);
}

bool is_white_space(char32_t point) {
    return (point >= 9 && point <= 13) || point == ' ' || point == 0x85 || point == 0xa0 || point == 0x1680 ||
           (point >= 0x2000 && point <= 0x200a) || point == 0x2028 || point == 0x2029 || point == 0x202f ||
           point == 0x205f || point == 0x3000;
}

bool is_number(char32_t point) {
    const auto category = utf8proc_category(number(point));
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t point) {
    if (point < 0x80)
        return (point >= 33 && point <= 47) || (point >= 58 && point <= 64) || (point >= 91 && point <= 96) ||
               (point >= 123 && point <= 126);
    const auto category = utf8proc_category(number(point));
    return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool is_mark(char32_t point) {
    const auto category = utf8proc_category(number(point));
    return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t point) {
    return utf8proc_category(number(point)) == UTF8PROC_CATEGORY_MN;
}

bool is_other(char32_t point) {
    const auto category = utf8proc_category(number(point));
    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_CO;
}

// Alphabetic is letters, Nl, some marks, and the enclosed letters among the symbols (PropList, Other_Alphabetic).
bool is_word(char32_t point) {
    const auto category = utf8proc_category(number(point));
    const bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
    const bool enclosed = (point >= 0x24b6 && point <= 0x24e9) || (point >= 0x1f130 && point <= 0x1f149) ||
                          (point >= 0x1f150 && point <= 0x1f169) || (point >= 0x1f170 && point <= 0x1f189);
    const bool joiner = point == 0x200c || point == 0x200d;
    return letter || is_mark(point) || category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
           category == UTF8PROC_CATEGORY_PC || enclosed || joiner;
}

int columns_of(char32_t point) {
    return utf8proc_charwidth(number(point));
}

std::size_t grapheme_length(std::string_view text) {
    Char last = first_char(text);
    std::size_t end = last.length;
    if (utf8_length(text) == 0) return end;
    utf8proc_int32_t state = 0;
    while (utf8_length(text.substr(end)) != 0) {
        const Char next = first_char(text.substr(end));
        if (utf8proc_grapheme_break_stateful(number(last.point), number(next.point), &state)) break;
        end += next.length;
        last = next;
    }
    return end;
}

} // namespace ordo::unicode
