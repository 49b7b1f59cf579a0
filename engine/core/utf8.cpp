// SPDX-License-Identifier: MIT
#include "core/utf8.h"

#include <cstdint>
#include <cstring>

namespace ordo {
namespace {

struct Lead {
    std::size_t length;                 // of the whole sequence; 0: not a lead byte
    unsigned char second_lo, second_hi; // allowed second byte
};

Lead lead(unsigned char b) {
    if (b < 0x80) return {1, 0, 0};
    if (b >= 0xc2 && b <= 0xdf) return {2, 0x80, 0xbf};
    if (b == 0xe0) return {3, 0xa0, 0xbf};
    if (b == 0xed) return {3, 0x80, 0x9f};
    if (b >= 0xe1 && b <= 0xef) return {3, 0x80, 0xbf};
    if (b == 0xf0) return {4, 0x90, 0xbf};
    if (b >= 0xf1 && b <= 0xf3) return {4, 0x80, 0xbf};
    if (b == 0xf4) return {4, 0x80, 0x8f};
    return {0, 0, 0};
}

// The number of bytes of text that agree with the sequence announced by its first byte.
std::size_t matching(std::string_view text, const Lead& l) {
    std::size_t n = 1;
    while (n < l.length && n < text.size()) {
        const auto b = static_cast<unsigned char>(text[n]);
        const unsigned char lo = n == 1 ? l.second_lo : 0x80;
        const unsigned char hi = n == 1 ? l.second_hi : 0xbf;
        if (b < lo || b > hi) break;
        ++n;
    }
    return n;
}

// The number of leading ASCII bytes, in steps of eight.
std::size_t ascii_prefix(std::string_view text) {
    std::size_t n = 0;
    for (std::uint64_t eight = 0; n + sizeof eight <= text.size(); n += sizeof eight) {
        std::memcpy(&eight, text.data() + n, sizeof eight);
        if ((eight & 0x8080808080808080) != 0) break;
    }
    return n;
}

} // namespace

std::size_t utf8_length(std::string_view text) {
    if (text.empty()) return 0;
    const Lead l = lead(static_cast<unsigned char>(text.front()));
    return l.length != 0 && matching(text, l) == l.length ? l.length : 0;
}

std::size_t utf8_complete_prefix(std::string_view text) {
    // The lead of an incomplete sequence is among the last three bytes.
    for (std::size_t back = 1; back <= 3 && back <= text.size(); ++back) {
        const std::string_view tail = text.substr(text.size() - back);
        const Lead l = lead(static_cast<unsigned char>(tail.front()));
        if (l.length > back && matching(tail, l) == back) return text.size() - back;
    }
    return text.size();
}

bool utf8_valid(std::string_view text) {
    while (!text.empty()) {
        text.remove_prefix(ascii_prefix(text));
        if (text.empty()) break;
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::size_t utf8_unprintable(std::string_view text) {
    if (text.empty()) return 0;
    const std::size_t length = utf8_length(text);
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (length == 0) return 1;
    if (length == 1) return byte(0) < 0x20 || byte(0) == 0x7f ? 1 : 0;
    const bool c1 = byte(0) == 0xc2 && byte(1) < 0xa0;
    if (length == 2) return c1 || text.starts_with("\u061c") ? 2 : 0;
    if (length != 3 || byte(0) != 0xe2) return 0;
    const unsigned char last = byte(2);
    // U+200E, U+200F; U+2028 to U+202E; U+2066 to U+2069
    const bool marks = byte(1) == 0x80 && (last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae));
    const bool isolates = byte(1) == 0x81 && last >= 0xa6 && last <= 0xa9;
    return marks || isolates ? 3 : 0;
}

} // namespace ordo
