// SPDX-License-Identifier: MIT
// Compares UTF-8 with the formula of its definition: exactly the scalar values are well formed.
#include "core/error.h"
#include "core/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace ordo {
namespace {

// RFC 3629, section 3: the bits of a scalar value, distributed over one to four bytes.
std::string spread(std::uint32_t point) {
    const auto byte = [](std::uint32_t b) { return static_cast<char>(b); };
    if (point < 0x80) return {byte(point)};
    if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f))};
    if (point < 0x10000)
        return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f))};
    return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)), byte(0x80 | (point >> 6 & 0x3f)),
            byte(0x80 | (point & 0x3f))};
}

bool is_scalar(std::uint32_t point) {
    return point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

TEST(Utf8, AcceptsEveryScalarValueAndNoSurrogate) {
    for (std::uint32_t point = 0; point < 0x120000; ++point) {
        const std::string text = spread(point);
        ASSERT_EQ(utf8_length(text + "x"), is_scalar(point) ? text.size() : 0) << std::hex << point;
        ASSERT_EQ(utf8_valid(text), is_scalar(point)) << std::hex << point;
    }
}

// If every scalar value is accepted, and there are as many accepted sequences as scalar values, then nothing else is
// accepted: no overlong form and no stray byte.
TEST(Utf8, AcceptsAsManySequencesAsThereAreScalarValues) {
    std::size_t accepted[5] = {};
    std::string text(4, '\0');
    const auto set = [&](std::size_t i, int b) { text[i] = static_cast<char>(b); };
    // Only the upper bits decide whether a byte is a continuation, so a few values represent the rest.
    const int tails[] = {0x00, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0xe1, 0xff};
    for (int a = 0; a < 256; ++a)
        for (int b = 0; b < 256; ++b)
            for (const int c : tails)
                for (const int d : tails) {
                    set(0, a), set(1, b), set(2, c), set(3, d);
                    ++accepted[utf8_length(text)];
                }
    // Third and fourth bytes: of the eight values two are continuations, and each stands for 32.
    EXPECT_EQ(accepted[1], 128u * 256 * 64);
    EXPECT_EQ(accepted[2], 30u * 64 * 64);                // U+0080..U+07FF: 1920 = 30 * 64
    EXPECT_EQ(accepted[3], (16u * 64 - 32 - 32) * 2 * 8); // without overlong E0 80..9F and surrogates ED A0..BF
    EXPECT_EQ(accepted[4], (5u * 64 - 16 - 48) * 2 * 2);  // without overlong F0 80..8F and F4 90..BF
}

TEST(Utf8, RefusesWhatTable37LeavesOut) {
    for (const char* text :
         {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf",
          "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xfe", "\xc3", "\xe2\x82", "\xf0\x9f\x98"})
        EXPECT_EQ(utf8_length(text), 0u) << text;
    EXPECT_EQ(utf8_length(""), 0u);
    EXPECT_TRUE(utf8_valid(""));
    EXPECT_TRUE(utf8_valid(std::string_view("a\0b", 3)));
    EXPECT_FALSE(utf8_valid("good\xff"));
}

// ASCII is skipped in larger steps, so the byte is tried at each place.
TEST(Utf8, FindsOneWrongByteAnywhere) {
    for (std::size_t size = 1; size < 26; ++size)
        for (std::size_t at = 0; at < size; ++at) {
            std::string text(size, 'a');
            text[at] = '\x80';
            EXPECT_FALSE(utf8_valid(text)) << at << " of " << size;
            if (at + 1 == size) continue;
            text.replace(at, 2, "\u00e9");
            EXPECT_TRUE(utf8_valid(text)) << at << " of " << size;
        }
}

// Unicode 15: controls are U+0000 to U+001F and U+007F to U+009F; UAX 9 names the marks that reorder a text.
TEST(Utf8, FindsWhatATerminalMustNotGet) {
    const auto refused = [](std::uint32_t point) {
        return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c || point == 0x200e ||
               point == 0x200f || (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
    };
    for (std::uint32_t point = 0; point < 0x3000; ++point) {
        const std::string text = spread(point);
        EXPECT_EQ(utf8_unprintable(text + "a"), refused(point) ? text.size() : 0u) << std::hex << point;
    }
    EXPECT_EQ(utf8_unprintable("\xff a"), 1u);
    EXPECT_EQ(utf8_unprintable("\xe2\x80"), 1u);
    EXPECT_EQ(utf8_unprintable(""), 0u);
    EXPECT_EQ(printable("a\u202eb\u0085\033"), "a\\xe2\\x80\\xaeb\\xc2\\x85\\x1b");
}

TEST(Utf8, CompletePrefixHoldsBackOnlyWhatCouldStillBeCompleted) {
    for (const std::uint32_t point : {0x41u, 0xe9u, 0x20acu, 0xd7ffu, 0xe000u, 0x1f600u, 0x10ffffu}) {
        const std::string text = spread(point);
        for (std::size_t cut = 0; cut < text.size(); ++cut)
            EXPECT_EQ(utf8_complete_prefix("ab" + text.substr(0, cut)), 2u) << std::hex << point << " cut at " << cut;
        EXPECT_EQ(utf8_complete_prefix("ab" + text), 2 + text.size());
    }
    EXPECT_EQ(utf8_complete_prefix(""), 0u);
    // Malformed: no further byte could complete these, so they count as complete.
    EXPECT_EQ(utf8_complete_prefix("a\xff"), 2u);
    EXPECT_EQ(utf8_complete_prefix("a\x80\x80\x80"), 4u);
    EXPECT_EQ(utf8_complete_prefix("a\xed\xa0"), 3u); // the beginning of a surrogate
    EXPECT_EQ(utf8_complete_prefix("a\xe0\x80"), 3u); // overlong
    EXPECT_EQ(utf8_complete_prefix("a\xc1"), 2u);
    EXPECT_EQ(utf8_complete_prefix("\xf0\x9f\x98\xf0\x9f"), 3u); // the first is truncated, the second may continue
}

} // namespace
} // namespace ordo
