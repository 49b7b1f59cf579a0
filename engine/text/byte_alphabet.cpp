// SPDX-License-Identifier: MIT
#include "text/byte_alphabet.h"

#include "core/utf8.h"

#include <array>

namespace ordo {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 255 && byte != 173);
}

// Byte to code point; the largest is 256 + 67 = U+0143.
constexpr std::array<unsigned, 256> code_points = [] {
    std::array<unsigned, 256> table{};
    unsigned next = 256;
    for (unsigned byte = 0; byte < 256; ++byte) table[byte] = stands_for_itself(byte) ? byte : next++;
    return table;
}();

// Code point to byte; -1 outside the alphabet.
constexpr std::array<int, 256 + 68> bytes_of = [] {
    std::array<int, 256 + 68> table{};
    table.fill(-1);
    for (unsigned byte = 0; byte < 256; ++byte) table[code_points[byte]] = static_cast<int>(byte);
    return table;
}();

} // namespace

std::string spell_bytes(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) {
        const unsigned point = code_points[static_cast<unsigned char>(c)];
        if (point < 0x80) {
            text += static_cast<char>(point);
        } else { // two bytes are enough for U+0143
            text += static_cast<char>(0xc0 | (point >> 6));
            text += static_cast<char>(0x80 | (point & 0x3f));
        }
    }
    return text;
}

std::optional<std::string> unspell_bytes(std::string_view text) {
    std::string bytes;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const auto first = static_cast<unsigned char>(text.front());
        unsigned point = first;
        if (length == 2) point = ((first & 0x1fu) << 6) | (static_cast<unsigned char>(text[1]) & 0x3fu);
        if (length == 0 || length > 2 || point >= bytes_of.size() || bytes_of[point] < 0) return std::nullopt;
        bytes += static_cast<char>(bytes_of[point]);
        text.remove_prefix(length);
    }
    return bytes;
}

} // namespace ordo
