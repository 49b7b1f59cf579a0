// SPDX-License-Identifier: MIT
// Numbers as text, independent of the locale.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>
#include <type_traits>

namespace ordo {

// The shortest text that reads back as the same number. form: see std::to_chars.
template <class Number, class... Form>
std::string number_text(Number number, Form... form) {
    char text[1100]; // the smallest double has 1,074 decimals
    return {text, std::to_chars(text, std::end(text), number, form...).ptr};
}

// At most `digits` significant digits.
inline std::string rounded_text(double number, int digits) {
    return number_text(number, std::chars_format::general, digits);
}
// Exactly `decimals` decimals.
inline std::string fixed_text(double number, int decimals) {
    return number_text(number, std::chars_format::fixed, decimals);
}

// A size in memory for people: "40 bytes", "1.5 MiB", "13.5 GiB".
inline std::string bytes_text(std::uint64_t bytes) {
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
    if (bytes < mebibyte) return number_text(bytes) + " bytes";
    const bool large = bytes >> 10 >= mebibyte;
    const double size = static_cast<double>(bytes) / static_cast<double>(large ? mebibyte << 10 : mebibyte);
    return fixed_text(size, 1) + (large ? " GiB" : " MiB");
}

// Joins texts, characters and numbers. A floating-point number has six significant digits.
template <int digits = 6, class... Parts>
std::string joined(const Parts&... parts) {
    std::string text;
    const auto append = [&]<class Part>(const Part& part) {
        if constexpr (std::is_floating_point_v<Part>)
            text += rounded_text(part, digits);
        else if constexpr (std::is_arithmetic_v<Part> && !std::is_same_v<Part, char>)
            text += number_text(part);
        else
            text += part;
    };
    (append(parts), ...);
    return text;
}

} // namespace ordo
