// SPDX-License-Identifier: MIT
// Patterns of tokenizer.json, in Oniguruma's syntax. What is expected is what Hugging Face's library cuts.
#include "core/error.h"
#include "text/regex.h"

#include <gtest/gtest.h>

#include <vector>

namespace ordo {
namespace {

using Matches = std::vector<std::string>;

Matches matches(std::string_view pattern, std::string_view text) {
    Matches found;
    const Regex regex(pattern_from_oniguruma(pattern, "test"), "test");
    regex.each(text, [&](std::size_t begin, std::size_t end) { found.emplace_back(text.substr(begin, end - begin)); });
    return found;
}

TEST(Regex, MeansWhatOnigurumaMeans) {
    EXPECT_EQ(matches(R"(\w+)", "a\u00bdb \u2460c \u24d0d"), (Matches{"a\u00bdb", "c", "\u24d0d"}));
    EXPECT_EQ(matches(R"([\w]+)", "a\u00bdb \u2460c"), (Matches{"a", "b", "c"})); // not the same in a class
    EXPECT_EQ(matches(R"(\w+)", "e\u0301a\u0947"), Matches{"e\u0301a\u0947"});    // marks
    EXPECT_EQ(matches(R"(\s)", "a\u180e\u3000b"), Matches{"\u3000"});
    EXPECT_EQ(matches(R"(\h+)", "xfa0\tz"), Matches{"fa0"});                          // hexadecimal digits, no blanks
    EXPECT_EQ(matches("^.|.$", "ab\ncd"), (Matches{"a", "b", "c", "d"}));             // ends of lines
    EXPECT_EQ(matches(R"([^(\s|[.,!?])]+)", "(ab|c. d)"), (Matches{"ab", "c", "d"})); // a class in a class
    EXPECT_EQ(matches("a{,2}b", "aaab"), Matches{"aab"});
    EXPECT_EQ(matches("a{x", "a{x"), Matches{"a{x"});
    EXPECT_EQ(matches(R"((?i:'s)|\u00e9)", "'S\u00e9"), (Matches{"'S", "\u00e9"}));
    EXPECT_EQ(matches("(?m:a.b)", "a\nb"), Matches{"a\nb"});
    EXPECT_EQ(matches(R"([[:space:]]x[[:digit:]])", " x7"), Matches{" x7"});
    EXPECT_EQ(matches("x*", "axb"), (Matches{"", "x", ""})); // no empty one touches the one before
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
    EXPECT_NE(refusal("a(?i)b").find("an option in the midst"), std::string::npos);
    for (const char* broken : {"(", "[a", "a\\", "(?<x", "*", "\\p{Surprise}", "[[:surprise:]]", "(?s:.)"})
        EXPECT_NE(refusal(broken), "accepted") << broken;
}

// Family T2: exponential where nothing holds it back.
TEST(Regex, EndsWhatWouldNotEnd) {
    const std::string text = std::string(100'000, 'a') + "b";
    try {
        matches("(a+)+$", text);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::limit);
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    }
}

TEST(Regex, QuotedPatternsMatchThemselves) {
    for (const char* text : {"a.b", "[x]", "\\", "\n", "^$|()?*+{}", "\u2581", " "})
        EXPECT_EQ(matches(quoted_pattern(text), std::string("x") + text + "y"), Matches{text}) << text;
}

} // namespace
} // namespace ordo
