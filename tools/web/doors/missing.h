// SPDX-License-Identifier: MIT
// Parts of C++20's library that the compiler's own lacks (libc++ 13); included before each file. Numbers become text by
// musl's printf and strtod, which are exact and ignore the locale.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>

_LIBCPP_BEGIN_NAMESPACE_STD
template <class C, class T>
span(basic_string_view<C, T>&) -> span<const C>; // of a view that is not const
_LIBCPP_END_NAMESPACE_STD

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);
}
template <class T>
unique_ptr<T> make_unique_for_overwrite(size_t size) {
    return unique_ptr<T>(new remove_extent_t<T>[size]);
}

namespace web {

inline to_chars_result put(char* first, char* last, const string& text) {
    if (last - first < static_cast<ptrdiff_t>(text.size())) return {last, errc::value_too_large};
    return {copy(text.begin(), text.end(), first), errc()};
}
inline string print(const char* form, int precision, double value) {
    char text[1100];
    return {text, static_cast<size_t>(snprintf(text, sizeof text, form, precision, value))};
}
// The fewest significant digits, less one, that read back as the same number.
template <class Number>
int fewest_decimals(Number value) {
    for (int decimals = 0; decimals < 17; ++decimals) {
        const string text = print("%.*e", decimals, value);
        if ((sizeof(Number) == sizeof(float) ? strtof(text.c_str(), nullptr) : strtod(text.c_str(), nullptr)) == value)
            return decimals;
    }
    return 17;
}

} // namespace web

template <class Number>
requires is_floating_point_v<Number> to_chars_result to_chars(char* first, char* last, Number value, chars_format form,
                                                              int precision) {
    const char* const text = form == chars_format::fixed ? "%.*f" : form == chars_format::general ? "%.*g" : "%.*e";
    return web::put(first, last, web::print(text, precision, value));
}
template <class Number>
requires is_floating_point_v<Number> to_chars_result to_chars(char* first, char* last, Number value,
                                                              chars_format form) {
    if (!isfinite(value)) return to_chars(first, last, value, form, 0);
    const int decimals = web::fewest_decimals(value);
    if (form == chars_format::scientific) return to_chars(first, last, value, form, decimals);
    const int exponent = atoi(strchr(web::print("%.*e", decimals, value).c_str(), 'e') + 1);
    return to_chars(first, last, value, chars_format::fixed, max(0, decimals - exponent));
}
template <class Number>
requires is_floating_point_v<Number> to_chars_result to_chars(char* first, char* last, Number value) {
    char fixed[1100], scientific[64];
    const auto a = to_chars(fixed, end(fixed), value, chars_format::fixed);
    const auto b = to_chars(scientific, end(scientific), value, chars_format::scientific);
    return web::put(first, last,
                    a.ptr - fixed <= b.ptr - scientific ? string(fixed, a.ptr) : string(scientific, b.ptr));
}

// A number without spaces, plus sign and hexadecimal digits.
template <class Number>
requires is_floating_point_v<Number> from_chars_result from_chars(const char* first, const char* last, Number& value,
                                                                  chars_format form = chars_format::general) {
    const char* at = first;
    const auto digits = [&] {
        const char* const begin = at;
        while (at < last && *at >= '0' && *at <= '9') ++at;
        return at - begin;
    };
    if (at < last && *at == '-') ++at;
    auto count = digits();
    if (at < last && *at == '.') ++at, count += digits();
    if (count == 0) return {first, errc::invalid_argument};
    if (const char* const mantissa = at; form != chars_format::fixed && at < last && (*at | 32) == 'e') {
        ++at;
        if (at < last && (*at == '-' || *at == '+')) ++at;
        if (digits() == 0) at = mantissa;
    }
    const string text(first, at);
    const Number read = sizeof(Number) == sizeof(float) ? strtof(text.c_str(), nullptr)
                                                        : static_cast<Number>(strtod(text.c_str(), nullptr));
    if (isinf(read) || (read == 0 && text.find_first_of("123456789") < text.find_first_of("eE")))
        return {at, errc::result_out_of_range};
    value = read;
    return {at, errc()};
}

} // namespace std
