// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tools/lab/trained/haystack.h"

#include <set>

namespace ordo::lab {
namespace {

using test::number;
using test::table;

constexpr Token start = 0, first_word = 1, words = 200, first_sign = first_word + words, signs = 100;

// The words " aaaa", " aaab", ..., then the signs "#". The text counts through the signs and sometimes has a word.
Haystack made() {
    std::vector<Token> text;
    for (int i = 0; i < 3000; ++i) text.push_back(i % 10 == 0 ? first_word + i % words : first_sign + i % signs);
    return {text, first_sign + signs, start, [](Token token) -> std::string {
                if (token < first_word || token >= first_sign) return "#";
                std::string out = " ";
                for (int digit = 0; digit < 4; ++digit, token /= 5) out += static_cast<char>('a' + token % 5);
                return out;
            }};
}

TEST(LabHaystack, NumbersTokensAnew) {
    const Haystack haystack = made();
    std::set<Token> originals;
    for (Token token = 0; token < haystack.vocabulary(); ++token) {
        originals.insert(haystack.original(token));
        const bool word = haystack.original(token) >= first_word && haystack.original(token) < first_sign;
        if (Haystack::is_key(token) || Haystack::is_value(token)) {
            EXPECT_TRUE(word) << token;
        }
    }
    EXPECT_EQ(static_cast<int>(originals.size()), haystack.vocabulary());
    EXPECT_EQ(haystack.original(0), start);
}

TEST(LabHaystack, TheKeyIsAskedForWhereItStood) {
    const Haystack haystack = made();
    for (const int needles : {1, 3})
        for (const double depth : {0.0, 0.5, 1.0})
            for (std::uint64_t i = 0; i < 50; ++i) {
                const Question q = haystack.ask(1, i, 60, needles, depth);
                ASSERT_EQ(q.tokens.size(), 60u);
                EXPECT_EQ(q.tokens[0], 0);
                const Token key = q.tokens.back();
                ASSERT_TRUE(Haystack::is_key(key));
                EXPECT_TRUE(Haystack::is_value(q.answer));
                const auto at = std::find(q.tokens.begin(), q.tokens.end(), key);
                ASSERT_LT(at - q.tokens.begin(), 58);
                EXPECT_EQ(at[1], q.answer);
                std::set<Token> keys;
                int values = 0, asked = 0;
                for (std::size_t j = 0; j + 1 < q.tokens.size(); ++j) {
                    if (Haystack::is_key(q.tokens[j])) keys.insert(q.tokens[j]);
                    values += Haystack::is_value(q.tokens[j]);
                    asked += q.tokens[j] == key;
                }
                EXPECT_EQ(asked, 1);
                EXPECT_EQ(static_cast<int>(keys.size()), needles);
                EXPECT_EQ(values, needles);
                const auto place = at - q.tokens.begin();
                if (needles > 1) continue;                               // other needles may precede it
                EXPECT_EQ(place, depth == 0 ? 1 : depth == 1 ? 57 : 29); // 56 tokens of hay, half of them before it
            }
}

TEST(LabHaystack, HayIsTheTextInItsOrder) {
    const Haystack haystack = made();
    const Question q = haystack.ask(3, 1, 50, 1, 0);
    Token before = -1;
    for (std::size_t i = 3; i + 1 < q.tokens.size(); ++i) {
        const Token token = haystack.original(q.tokens[i]);
        if (token < first_sign) continue;
        const Token sign = token - first_sign;
        if (before >= 0) {
            // A word may have come between them.
            EXPECT_TRUE(sign == (before + 1) % signs || sign == (before + 2) % signs);
        }
        before = sign;
    }
    EXPECT_GE(before, 0);
}

TEST(LabHaystack, TrainingAsksForEveryNeedle) {
    const Haystack haystack = made();
    for (const int needles : {1, 3})
        for (std::uint64_t i = 0; i < 50; ++i) {
            const int length = 14 + static_cast<int>(i % 27);
            std::vector<Token> tokens(40, 0), targets(40, -1);
            haystack.train(1, i, length, needles, tokens, targets);
            int asked = 0;
            for (std::size_t at = 0; at < tokens.size(); ++at) {
                if (targets[at] < 0) continue;
                ++asked;
                ASSERT_TRUE(Haystack::is_key(tokens[at]));
                const auto stood = std::find(tokens.begin(), tokens.end(), tokens[at]);
                ASSERT_LT(stood - tokens.begin(), static_cast<std::ptrdiff_t>(at));
                EXPECT_EQ(stood[1], targets[at]);
            }
            EXPECT_EQ(asked, needles);
            EXPECT_GE(targets[static_cast<std::size_t>(length) - 1], 0); // the last token is a question
            for (std::size_t at = static_cast<std::size_t>(length); at < tokens.size(); ++at) EXPECT_EQ(tokens[at], 0);
        }
}

TEST(LabHaystack, RefusesTooLittleTextAndTooFewWords) {
    const std::vector<Token> text(2000, 5), little(100, 5);
    const auto word = [](Token) -> std::string { return " word"; };
    EXPECT_THROW(Haystack(little, 300, start, word), Error);
    EXPECT_THROW(Haystack(text, 300, start, [](Token) -> std::string { return "#"; }), Error);
}

TEST(LabRetrieval, GridsOfLengthAndDepthAndNoVerdictFromQuick) {
    const Result result = test::run(retrieval_experiment, {"--encodings", "learned", "--seeds", "1", "--length", "32"});
    const auto& grid = test::picture<HeatMap>(result, "passkey-none");
    ASSERT_EQ(grid.values.size(), 4u);
    for (const auto& row : grid.values) ASSERT_EQ(row.size(), 5u);
    // A learned table only has rows for the trained length.
    const auto& learned = test::picture<HeatMap>(result, "needle-learned");
    for (std::size_t length = 0; length < 4; ++length)
        for (const double share : learned.values[length]) EXPECT_EQ(std::isnan(share), length > 0);
    for (const char* kind : {"passkey", "needle"})
        for (const auto& row : table(result, kind).rows) {
            const double share = number(row[6]), low = number(row[7]), high = number(row[8]);
            EXPECT_EQ(share, number(row[4]) / number(row[5]));
            EXPECT_TRUE(0 <= low && low <= share && share <= high && high <= 1);
        }
    for (const std::string& sentence : result.found)
        EXPECT_TRUE(has(sentence, "is undecided") || has(sentence, "could not be tested")) << sentence;
    EXPECT_THROW(test::run(retrieval_experiment, {"--length", "16"}), Error);
}

} // namespace
} // namespace ordo::lab
