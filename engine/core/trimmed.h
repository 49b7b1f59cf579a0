// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace ordo {

// A text without the white space around it.
inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view space = " \t\n\r";
    const std::size_t begin = text.find_first_not_of(space);
    return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

} // namespace ordo
