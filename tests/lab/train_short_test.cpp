// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tools/lab/trained/letter_source.h"

#include <array>
#include <map>
#include <numeric>
#include <set>

namespace ordo::lab {
namespace {

using test::number;
using test::table;

// 0.9 + 0.1 / 6 for the letter that the table names, and 0.1 / 6 for each of five, worked out by hand.
TEST(LabLetterSource, OneLetterMostlyFollows) {
    EXPECT_NEAR(LetterSource::entropy(), 0.9166667 * 0.0870114 + 5 * 0.0166667 * 4.0943446, 1e-5);
    const std::vector<Token> text = LetterSource().window(1, 7, 12000);
    ASSERT_EQ(text.size(), 12001u);
    std::array<std::array<int, 6>, 6> counts{};
    for (std::size_t i = 0; i + 1 < text.size(); ++i) ++counts[text[i]][text[i + 1]];
    std::set<std::ptrdiff_t> followers; // the table is a permutation, so that all letters are equally frequent
    for (auto& row : counts) {
        const int all = std::accumulate(row.begin(), row.end(), 0);
        EXPECT_NEAR(all, 2000, 400);
        followers.insert(std::max_element(row.begin(), row.end()) - row.begin());
        std::sort(row.rbegin(), row.rend());
        EXPECT_NEAR(row[0] / static_cast<double>(all), 0.91667, 4 * 0.28 / std::sqrt(all));
        EXPECT_LT(row[1] / static_cast<double>(all), 0.03);
    }
    EXPECT_EQ(followers.size(), 6u);
}

TEST(LabLetterSource, EachTextHasATableOfItsOwnAndIsTheSameAgain) {
    const LetterSource source;
    EXPECT_EQ(source.window(1, 7, 100), source.window(1, 7, 100));
    const auto first = source.window(1, 7, 100), longer = source.window(1, 7, 200);
    EXPECT_TRUE(std::equal(first.begin(), first.end(), longer.begin()));
    for (const auto& other : {source.window(1, 8, 100), source.window(2, 7, 100), source.window(1, 7, 100, true)})
        EXPECT_NE(other, first);
}

TEST(LabLetterSource, KeepsTheLastTenthOfAFileBack) {
    std::string text(900, 'a');
    text += std::string(100, 'z');
    const LetterSource source(text, "text", 40);
    EXPECT_EQ(source.vocabulary(), 256);
    for (std::uint64_t i = 0; i < 200; ++i) {
        EXPECT_EQ(source.window(1, i, 40), std::vector<Token>(41, 'a'));
        EXPECT_EQ(source.window(1, i, 40, true), std::vector<Token>(41, 'z'));
    }
    EXPECT_THROW(LetterSource(std::string(300, 'a'), "text", 40), Error);
}

// Two thirds of the way from ln 6 = 1.791759 to the entropy 0.420956 is 0.877890: a dearer model has not learnt.
TEST(LabTrainShort, ComparesOnlyModelsThatHaveLearntTheTexts) {
    const Result result = test::run(train_short_experiment, {"--seeds", "1"});
    const tools::Figures& runs = table(result, "runs");
    ASSERT_EQ(runs.rows.size(), 8u);
    std::map<std::string, bool> learnt;
    for (const auto& row : runs.rows) {
        const double at = number(row[1]), nats = number(row[at == 32 ? 4 : 3]);
        EXPECT_TRUE(at == 32 || at == 64);
        EXPECT_GT(number(row[3]), LetterSource::entropy()); // no model can beat the table
        EXPECT_LT(number(row[3]), 1.1 * std::log(6));
        EXPECT_NEAR(number(row[3]), (number(row[4]) + number(row[5])) / 2, 1e-9);
        EXPECT_EQ(std::get<bool>(row[6]), nats < 0.877890);
        learnt[std::get<std::string>(row[0]) + " trained at " + tools::number_text(at)] = std::get<bool>(row[6]);
    }
    ASSERT_EQ(learnt.size(), 8u);
    EXPECT_FALSE(learnt.at("sinusoidal trained at 64")); // after a twentieth of the steps
    const tools::Figures& pairs = table(result, "pairs");
    EXPECT_EQ(pairs.rows.size(), 7u);
    for (const auto& row : pairs.rows) {
        const auto word = [&](std::size_t i) { return std::get<std::string>(row[i]); };
        EXPECT_EQ(word(4), learnt.at(word(0)) && learnt.at(word(1)) ? "undecided" : "not learnt") << word(0);
    }
    EXPECT_TRUE(test::says(result, "Expectation 1 could not be tested"));
    for (const auto& row : table(result, "steps").rows) {
        EXPECT_GT(number(row[1]), 0);
        // At least the weights, their gradients and two running averages.
        EXPECT_GT(number(row[2]) * 1048576, 16.0 * 2 * (4 * 64 * 64 + 3 * 64 * 128));
    }
}

} // namespace
} // namespace ordo::lab
