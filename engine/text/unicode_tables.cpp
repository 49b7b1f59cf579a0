// SPDX-License-Identifier: MIT
#include "text/unicode_tables.h"

#include "core/utf8.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

namespace ordo::unicode::tables {
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

} // namespace

void append_normalized(std::string_view text, Form form, const Allowance* allowance, std::string& out) {
    auto points = decompose(text, form == Form::nfkc || form == Form::nfkd, allowance);
    order_marks(points);
    auto n = static_cast<utf8proc_ssize_t>(points.size());
    if (form == Form::nfc || form == Form::nfkc)
        n = utf8proc_normalize_utf32(points.data(), n,
                                     static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    for (utf8proc_ssize_t i = 0; i < n; ++i) append(static_cast<char32_t>(points[i]), out);
}

Category category(char32_t point) {
    return static_cast<Category>(utf8proc_category(number(point)));
}

char32_t lower(char32_t point) {
    return static_cast<char32_t>(utf8proc_tolower(number(point)));
}

int columns(char32_t point) {
    return utf8proc_charwidth(number(point));
}

std::size_t grapheme_length(std::string_view text) {
    Char last = first_char(text);
    std::size_t end = last.length;
    utf8proc_int32_t state = 0;
    while (utf8_length(text.substr(end)) != 0) {
        const Char next = first_char(text.substr(end));
        if (utf8proc_grapheme_break_stateful(number(last.point), number(next.point), &state)) break;
        end += next.length;
        last = next;
    }
    return end;
}

} // namespace ordo::unicode::tables
