// SPDX-License-Identifier: MIT
// Building the one-line messages of ordo::Error.
#pragma once

#include "ordo.h"

#include <array>
#include <charconv>
#include <type_traits>

namespace ordo {

// A text, a character or a number, without a locale; of a floating-point number the first six digits.
template <class Part>
void append_part(std::string& to, const Part& part) {
    if constexpr (std::is_same_v<Part, char>) {
        to += part;
    } else if constexpr (std::is_arithmetic_v<Part>) {
        std::array<char, 32> digits{};
        char* const end = digits.data() + digits.size();
        if constexpr (std::is_floating_point_v<Part>)
            to.append(digits.data(), std::to_chars(digits.data(), end, part, std::chars_format::general, 6).ptr);
        else
            to.append(digits.data(), std::to_chars(digits.data(), end, part).ptr);
    } else {
        to += part;
    }
}

// fail(ErrorCode::model, file, ": tensor ", name, ": expected ", a, ", found ", b). Throws std::bad_alloc if there is no
// memory for the message: a stream would cut it short instead.
template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
    std::string text;
    (append_part(text, parts), ...);
    throw Error(code, text);
}

// Text from outside, made safe for a terminal: control bytes and bytes that are not UTF-8 become
// \xNN, and what is longer than limit bytes is cut with "...".
std::string printable(std::string_view text, std::size_t limit = 80);

} // namespace ordo
