// SPDX-License-Identifier: MIT
// Patterns of tokenizer.json in Oniguruma's syntax. The expected pieces are those of Hugging Face's library.
#include "core/error.h"
#include "tests/sanitizer.h"
#include "text/regex.h"

#include <gtest/gtest.h>

#include <ctime>
#include <vector>

namespace ordo {
namespace {

using Matches = std::vector<std::string>;

Matches matches(std::string_view pattern, std::string_view text) {
    Matches found;
    const Regex regex(pattern_from_oniguruma(pattern, "test"), "test");
    Allowance allowance("test", text.size());
    regex.each(text, allowance,
               [&](std::size_t begin, std::size_t end) { found.emplace_back(text.substr(begin, end - begin)); });
    return found;
}

TEST(Regex, MeansWhatOnigurumaMeans) {
    EXPECT_EQ(matches(R"(\w+)", "a\u00bdb \u2460c \u24d0d"), (Matches{"a\u00bdb", "c", "\u24d0d"}));
    EXPECT_EQ(matches(R"([\w]+)", "a\u00bdb \u2460c"), (Matches{"a", "b", "c"})); // in a class \w differs
    EXPECT_EQ(matches(R"(\w+)", "e\u0301a\u0947"), Matches{"e\u0301a\u0947"});    // marks
    EXPECT_EQ(matches(R"(\s)", "a\u180e\u3000b"), Matches{"\u3000"});
    EXPECT_EQ(matches(R"(\h+)", "xfa0\tz"), Matches{"fa0"});                          // hexadecimal digits, not blanks
    EXPECT_EQ(matches("^.|.$", "ab\ncd"), (Matches{"a", "b", "c", "d"}));             // ends of lines
    EXPECT_EQ(matches(R"([^(\s|[.,!?])]+)", "(ab|c. d)"), (Matches{"ab", "c", "d"})); // a class in a class
    EXPECT_EQ(matches("a{,2}b", "aaab"), Matches{"aab"});
    EXPECT_EQ(matches("a{x", "a{x"), Matches{"a{x"});
    EXPECT_EQ(matches(R"((?i:'s)|\u00e9)", "'S\u00e9"), (Matches{"'S", "\u00e9"}));
    EXPECT_EQ(matches("(?m:a.b)", "a\nb"), Matches{"a\nb"});
    EXPECT_EQ(matches(R"([[:space:]]x[[:digit:]])", " x7"), Matches{" x7"});
    EXPECT_EQ(matches("x*", "axb"), (Matches{"", "x", ""})); // no empty match touches the match before
    // A match far from the previous one, among multi-byte characters.
    const std::string gap = [] {
        std::string text;
        for (int i = 0; i < 500; ++i) text += "\u6587";
        return text;
    }();
    EXPECT_EQ(matches("x", gap + "x" + gap + "x"), (Matches{"x", "x"}));
    EXPECT_EQ(matches("(?<=\u6587)x|x\\z", gap + "xx"), (Matches{"x", "x"}));
}

// By Oniguruma's doc/RE: \1 and \k<1>, \k<-1> (the group before), \k<name> and \k'name'.
TEST(Regex, GroupsMayBeReferredTo) {
    EXPECT_EQ(matches("([!#])\\1*", "  ##!"), (Matches{"##", "!"}));
    EXPECT_EQ(matches("(a)(b)\\k<-1>|(c)\\k<3>", "abb cc ab"), (Matches{"abb", "cc"}));
    EXPECT_EQ(matches("(?<q>['\"])x\\k<q>|(?<z>0)\\k'z'", "'x' \"x' 00"), (Matches{"'x'", "00"}));
    EXPECT_EQ(matches("(\\d)(?!\\1)", "1123"), (Matches{"1", "2", "3"}));
    EXPECT_EQ(matches("((((((((((a))))))))))\\10", "aab"), Matches{"aa"});
}

TEST(Regex, RefusesByName) {
    const auto refusal = [](std::string_view pattern) -> std::string {
        try {
            Regex(pattern_from_oniguruma(pattern, "tok.json"), "tok.json");
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::model);
            return error.what();
        }
        return "accepted";
    };
    EXPECT_NE(refusal("[a-z&&[^b]]").find("&& in a class"), std::string::npos);
    EXPECT_NE(refusal("[a[^b]]").find("[^ in a class"), std::string::npos);
    EXPECT_NE(refusal("a{1,2}+").find("{}+"), std::string::npos);
    EXPECT_NE(refusal(R"(\G)").find("\\G"), std::string::npos);
    EXPECT_NE(refusal(R"((?<a>b)\k<a+0>)").find("\\k in this form"), std::string::npos);
    EXPECT_NE(refusal("a(?i)b").find("an option in the midst"), std::string::npos);
    for (const char* broken : {"(", "[a", "a\\", "(?<x", "*", "\\p{Surprise}", "[[:surprise:]]", "(?s:.)"})
        EXPECT_NE(refusal(broken), "accepted") << broken;
}

// Family T2: these would take exponential or quadratic time without a limit.
TEST(Regex, EndsWhatWouldNotEnd) {
    const auto refusal = [](std::string_view pattern, const std::string& text) -> std::string {
        try {
            matches(pattern, text);
            return "none";
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::limit);
            return error.what();
        }
    };
    const std::string letters(2000, 'a');
    for (const char* pattern : {"(?:a|a){22}[bc]", "(a+)+$", "(?:a{1,9}){1,9}[bc]", "(a|aa)+\\1[bc]", "(a*)*[bc]"}) {
        const std::string found = refusal(pattern, letters + "d");
        EXPECT_TRUE(found.find(", found more") != found.npos || found.find("limit exceeded") != found.npos)
            << pattern << ": " << found;
        EXPECT_EQ(found.find('\n'), std::string::npos);
    }
    EXPECT_NE(refusal("(?:(a)|(a)(a)|b)+", std::string(1 << 20, 'a')).find("heap limit exceeded"), std::string::npos);
}

// Each place, or each comparison with a group, reads the whole text: the time is checked between them.
TEST(Regex, EndsWithinTwiceItsTime) {
    const std::string letters(400'000, 'a');
    for (const char* pattern : {"(?<=a)(?=.*b)a", "(a*)\\1[bc]"}) {
        const std::clock_t start = std::clock();
        std::string found = "none";
        try {
            matches(pattern, letters);
        } catch (const Error& error) {
            found = error.what();
        }
        const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        EXPECT_NE(found.find("seconds of work, found more"), std::string::npos) << pattern << ": " << found;
        EXPECT_LT(seconds, (test::is_sanitized() ? 40 : 2) * (1 + 2 * 400'000.0 / (1 << 20))) << pattern;
    }
}

TEST(Allowance, EndsWorkThatTakesTooLong) {
    Allowance allowance("text", 0);
    EXPECT_THROW(
        {
            while (true) allowance.check_time("test"); // for a second
        },
        Error);
}

// The limits leave room for published patterns: a megabyte of blanks is one match.
TEST(Regex, LongRunsMatch) {
    const std::string blanks(1 << 20, ' ');
    const char* cl100k = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
                         R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
    EXPECT_EQ(matches(cl100k, blanks + "a"), (Matches{blanks.substr(1), " a"}));
    EXPECT_EQ(matches(cl100k, std::string(1 << 20, 'a')).size(), 1u);
    std::string lines;
    for (int i = 0; i < 1 << 18; ++i) lines += " \n a";
    EXPECT_EQ(matches(cl100k, lines).size(), std::size_t{2} << 18);
}

TEST(Regex, QuotedPatternsMatchThemselves) {
    for (const char* text : {"a.b", "[x]", "\\", "\n", "^$|()?*+{}", "\u2581", " "})
        EXPECT_EQ(matches(quoted_pattern(text), std::string("x") + text + "y"), Matches{text}) << text;
}

} // namespace
} // namespace ordo
