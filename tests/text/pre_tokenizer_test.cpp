// SPDX-License-Identifier: MIT
// The pieces of GPT-2's pattern, worked by hand, and the byte alphabet.
#include "text/byte_alphabet.h"
#include "text/pre_tokenizer.h"

#include "text_samples.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

using Pieces = std::vector<std::string>;

Pieces pieces(std::string_view text) {
    Pieces found;
    cut_gpt2(text, [&](std::string_view piece) { found.emplace_back(piece); });
    return found;
}

TEST(PreTokenizer, CutsAsGpt2Does) {
    EXPECT_EQ(pieces(""), Pieces{});
    EXPECT_EQ(pieces("Hello world"), (Pieces{"Hello", " world"}));
    EXPECT_EQ(pieces("I've told he'll 'tis"), (Pieces{"I", "'ve", " told", " he", "'ll", " '", "tis"}));
    EXPECT_EQ(pieces("'S"), (Pieces{"'", "S"})); // contractions are lower-case
    EXPECT_EQ(pieces("abc123 45.6"), (Pieces{"abc", "123", " 45", ".", "6"}));
    EXPECT_EQ(pieces("wait...!? no"), (Pieces{"wait", "...!?", " no"}));
    EXPECT_EQ(pieces("\U0001f600\u0301a"), (Pieces{"\U0001f600\u0301", "a"})); // neither letter nor number
    EXPECT_EQ(pieces("x\u00b2\u0663"), (Pieces{"x", "\u00b2\u0663"}));         // numbers: superscript, Arabic
    EXPECT_EQ(pieces("\u4f60\u597d world"), (Pieces{"\u4f60\u597d", " world"}));
}

TEST(PreTokenizer, LeavesTheLastSpaceToTheWord) {
    EXPECT_EQ(pieces("a   b"), (Pieces{"a", "  ", " b"}));
    EXPECT_EQ(pieces("a \n b"), (Pieces{"a", " \n", " b"}));
    EXPECT_EQ(pieces("a\n\nb"), (Pieces{"a", "\n", "\n", "b"})); // only a space joins the next piece
    EXPECT_EQ(pieces("a  "), (Pieces{"a", "  "}));
    EXPECT_EQ(pieces("\t\tx"), (Pieces{"\t", "\t", "x"}));
}

// White_Space of the Unicode Character Database, PropList.txt, and similar characters that are not white space.
TEST(PreTokenizer, KnowsUnicodeSpaces) {
    for (const char* space : {"\t", "\n", "\v", "\f", "\r", "\u0085", "\u00a0", "\u1680", "\u2000", "\u200a", "\u2028",
                              "\u2029", "\u202f", "\u205f", "\u3000"})
        EXPECT_EQ(pieces(std::string("!") + space + "!"), (Pieces{"!", space, "!"})) << space;
    for (const char* other : {"\x1c", "\x1f", "\u180e", "\u200b", "\u2060", "\ufeff"})
        EXPECT_EQ(pieces(std::string("!") + other + "!"), Pieces{std::string("!") + other + "!"}) << other;
}

TEST(PreTokenizer, MakesPiecesOfBytesThatAreNotUtf8) {
    EXPECT_EQ(pieces("ab\xff\xfe"
                     "cd"),
              (Pieces{"ab", "\xff\xfe", "cd"}));
    EXPECT_EQ(pieces("caf\xc3"), (Pieces{"caf", "\xc3"}));
    EXPECT_EQ(pieces("\x80\u00e9\x80"), (Pieces{"\x80", "\u00e9", "\x80"}));
    EXPECT_EQ(pieces("a  \xff  b"), (Pieces{"a", "  ", "\xff", " ", " b"}));
}

TEST(PreTokenizer, PiecesFollowOneAnotherWithoutGaps) {
    auto texts = text_samples::hostile_texts();
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        texts.push_back(text_samples::random_bytes(seed, 300));
        texts.push_back(text_samples::random_text(seed, 100));
    }
    for (const std::string& text : texts) {
        std::string joined;
        for (const std::string& piece : pieces(text)) joined += piece;
        EXPECT_EQ(joined, text);
    }
}

// Family T5: none of these may take quadratic time or exceed PCRE2's own limits.
TEST(PreTokenizer, TakesAMebibyteInOnePiece) {
    std::string marks;
    for (int i = 0; i < 1 << 19; ++i) marks += "\u0301";
    for (const std::string& text : {std::string(1 << 20, 'a'), std::string(1 << 20, ' '), std::string(1 << 20, '\n'),
                                    std::string(1 << 20, '\xff'), marks})
        EXPECT_EQ(pieces(text), Pieces{text});
    EXPECT_EQ(pieces(std::string(1 << 20, ' ') + "b"), (Pieces{std::string((1 << 20) - 1, ' '), " b"}));
}

// The table of GPT-2's bytes_to_unicode: its ends and its gaps.
TEST(ByteAlphabet, SpellsBytesAsGpt2Does) {
    const std::pair<int, const char*> known[] = {{'!', "!"},       {'~', "~"},       {0xa1, "\u00a1"}, {0xac, "\u00ac"},
                                                 {0xae, "\u00ae"}, {0xff, "\u00ff"}, {0, "\u0100"},    {'\n', "\u010a"},
                                                 {' ', "\u0120"},  {0x7f, "\u0121"}, {0x80, "\u0122"}, {0xa0, "\u0142"},
                                                 {0xad, "\u0143"}, {0x1f, "\u011f"}};
    for (const auto& [byte, spelled] : known) {
        EXPECT_EQ(spell_bytes(std::string(1, static_cast<char>(byte))), spelled) << byte;
        EXPECT_EQ(unspell_bytes(spelled), std::string(1, static_cast<char>(byte))) << byte;
    }
}

TEST(ByteAlphabet, IsOneToOne) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    EXPECT_EQ(unspell_bytes(spell_bytes(all)), all);
    for (const char* other : {" ", "\n", "\x7f", "\u00a0", "\u00ad", "\u0144", "\u4f60", "\U0001f600", "a b", "\xff"})
        EXPECT_EQ(unspell_bytes(other), std::nullopt) << other;
}

} // namespace
} // namespace ordo
