// SPDX-License-Identifier: MIT
// The expected values come from Unicode Standard Annexes 15 (figures 3 to 6) and 29, and from the code charts.
#include "text/unicode.h"

#include "text_samples.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

using unicode::Form;

std::string normal(std::string_view text, Form form) {
    return unicode::normalize(text, form);
}

TEST(Unicode, NormalFormsOfAnnex15) {
    struct Case {
        const char *text, *nfd, *nfc, *nfkd, *nfkc;
    };
    const Case cases[] = {
        {"\u212b", "A\u030a", "\u00c5", "A\u030a", "\u00c5"}, // figure 3: singletons
        {"\u2126", "\u03a9", "\u03a9", "\u03a9", "\u03a9"},
        {"\u00c5", "A\u030a", "\u00c5", "A\u030a", "\u00c5"}, // figure 4: composites
        {"\u00f4", "o\u0302", "\u00f4", "o\u0302", "\u00f4"},
        {"\u1e69", "s\u0323\u0307", "\u1e69", "s\u0323\u0307", "\u1e69"}, // figure 5: several marks
        {"\u1e0b\u0323", "d\u0323\u0307", "\u1e0d\u0307", "d\u0323\u0307", "\u1e0d\u0307"},
        {"q\u0307\u0323", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307", "q\u0323\u0307"},
        {"\ufb01", "\ufb01", "\ufb01", "fi", "fi"}, // figure 6: compatibility
        {"2\u2075", "2\u2075", "2\u2075", "25", "25"},
        {"\u1e9b\u0323", "\u017f\u0323\u0307", "\u1e9b\u0323", "s\u0323\u0307", "\u1e69"},
        {"\uac00\u11a8", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8", "\uac01"}, // Hangul
    };
    for (const Case& c : cases) {
        EXPECT_EQ(normal(c.text, Form::nfd), c.nfd);
        EXPECT_EQ(normal(c.text, Form::nfc), c.nfc);
        EXPECT_EQ(normal(c.text, Form::nfkd), c.nfkd);
        EXPECT_EQ(normal(c.text, Form::nfkc), c.nfkc);
    }
}

TEST(Unicode, MalformedBytesStayWhatTheyAre) {
    for (const Form form : {Form::nfc, Form::nfd, Form::nfkc, Form::nfkd}) {
        EXPECT_EQ(normal("\xff"
                         "a\xc3"
                         "b",
                         form),
                  "\xff"
                  "a\xc3"
                  "b");
        EXPECT_EQ(normal("\xed\xa0\x80", form), "\xed\xa0\x80"); // a surrogate
        for (const std::string& text : text_samples::hostile_texts())
            EXPECT_EQ(normal(normal(text, form), form), normal(text, form));
    }
    EXPECT_EQ(unicode::first_char("\xff").point, unicode::replacement);
    EXPECT_EQ(unicode::count_chars("a\xff\xe4\xbd\xa0\xe4"), 4u);
}

// Half a megabyte of marks in the wrong order. A sort by neighbour exchanges would take hours.
TEST(Unicode, OrdersAMegabyteOfMarks) {
    std::string marks, above, below;
    for (int i = 0; i < 1 << 18; ++i) {
        marks += "\u0301\u0323";
        above += "\u0301";
        below += "\u0323";
    }
    EXPECT_TRUE(normal(marks, Form::nfd) == below + above);
    EXPECT_TRUE(normal("q" + marks, Form::nfc) == "q" + below + above);
}

TEST(Unicode, FirstAndLastCharacters) {
    for (const char32_t point : {U'a', U'\u00e9', U'\u4f60', U'\U0001f600', U'\U0010ffff'}) {
        std::string text;
        unicode::append(point, text);
        EXPECT_EQ(unicode::first_char(text + "x").point, point);
        EXPECT_EQ(unicode::first_char(text + "x").length, text.size());
        EXPECT_EQ(unicode::last_char("x" + text).point, point);
        EXPECT_EQ(unicode::last_char("x" + text).length, text.size());
    }
    EXPECT_EQ(unicode::last_char("\xa9").point, unicode::replacement);
    EXPECT_EQ(unicode::last_char("a\xa9").length, 1u);
}

std::string lower(std::string_view text) {
    std::string out;
    for (; !text.empty(); text.remove_prefix(unicode::first_char(text).length))
        unicode::append_lower(unicode::first_char(text).point, out);
    return out;
}

TEST(Unicode, LowerCase) {
    EXPECT_EQ(lower("ABC \u00c9\u0416\u03a3\u1e9e"), "abc \u00e9\u0436\u03c3\u00df");
    EXPECT_EQ(lower("\u0130I"), "i\u0307i");
}

TEST(Unicode, Categories) {
    using namespace unicode;
    EXPECT_TRUE(is_white_space(0x3000) && is_white_space(0x85) && is_white_space('\v'));
    EXPECT_FALSE(is_white_space(0x200b) || is_white_space(0x180e) || is_white_space('_'));
    EXPECT_TRUE(is_number(0xbd) && is_number(0x2167) && is_number('7') && !is_number('x'));
    EXPECT_TRUE(is_punctuation('$') && is_punctuation('~') && is_punctuation(0x3002) && is_punctuation(0x2014));
    EXPECT_FALSE(is_punctuation(0x20ac) || is_punctuation('a') || is_punctuation(' ') || is_punctuation(0x7f));
    EXPECT_TRUE(is_nonspacing_mark(0x301) && is_mark(0x903) && !is_nonspacing_mark(0x903) && !is_mark('a'));
    EXPECT_TRUE(is_other(0) && is_other(0xad) && is_other(0xe000) && !is_other(' '));
    EXPECT_TRUE(is_word('_') && is_word(0x301) && is_word(0x24b6) && is_word(0x4f60) && is_word('0'));
    EXPECT_FALSE(is_word('-') || is_word(' ') || is_word(0x2460));
}

TEST(Unicode, GraphemesOfAnnex29) {
    EXPECT_EQ(unicode::grapheme_length("e\u0301x"), 3u);
    EXPECT_EQ(unicode::grapheme_length("\r\nx"), 2u);
    EXPECT_EQ(unicode::grapheme_length("\u1112\u1161\u11abx"), 9u); // one syllable of Hangul
    EXPECT_EQ(unicode::grapheme_length("ab"), 1u);
    EXPECT_EQ(unicode::grapheme_length("a\xff"), 1u);
    EXPECT_EQ(unicode::grapheme_length("\xff\u0301"), 1u);
}

} // namespace
} // namespace ordo
