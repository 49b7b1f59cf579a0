// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tools/lab/trained/letter_source.h"

#include <array>
#include <set>

namespace ordo::lab {
namespace {

using test::number;
using test::table;

// 0.45 + 0.1 / 16 for each of two letters, and 0.1 / 16 for each of 14, worked out by hand.
TEST(LabLetterSource, TwoLettersMostlyFollow) {
    EXPECT_NEAR(LetterSource::entropy(), 2 * 0.45625 * 0.784715 + 14 * 0.00625 * 5.075174, 1e-5);
    const std::vector<Token> text = LetterSource().window(1, 7, 16000);
    ASSERT_EQ(text.size(), 16001u);
    std::array<std::array<int, 16>, 16> counts{};
    for (std::size_t i = 0; i + 1 < text.size(); ++i) ++counts[text[i]][text[i + 1]];
    int letters = 0;
    for (auto& followers : counts) {
        std::sort(followers.rbegin(), followers.rend());
        int all = 0;
        for (const int count : followers) all += count;
        if (all < 500) continue; // a rare letter
        ++letters;
        for (const int i : {0, 1})
            EXPECT_NEAR(followers[i] / static_cast<double>(all), 0.45625, 4 * 0.5 / std::sqrt(all));
        EXPECT_LT(followers[2] / static_cast<double>(all), 0.03);
    }
    EXPECT_GE(letters, 8);
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

TEST(LabTrainShort, QuickDecidesNothingAboutWhatItTrainsTooLittle) {
    const Result result = test::run(train_short_experiment, {"--seeds", "1", "--length", "32"});
    const tools::Figures& runs = table(result, "runs");
    ASSERT_EQ(runs.rows.size(), 4u);
    std::set<double> lengths;
    for (const auto& row : runs.rows) {
        lengths.insert(number(row[1]));
        EXPECT_GT(number(row[3]), LetterSource::entropy()); // no model can beat the table
        EXPECT_LT(number(row[3]), 1.1 * std::log(16));
        EXPECT_NEAR(number(row[3]), (number(row[4]) + number(row[5])) / 2, 1e-9);
    }
    EXPECT_EQ(lengths, (std::set<double>{32, 64}));
    for (const auto& row : table(result, "pairs").rows)
        EXPECT_TRUE(std::get<std::string>(row[4]).starts_with("undecided")) << std::get<std::string>(row[4]);
    for (const auto& row : table(result, "steps").rows) {
        EXPECT_GT(number(row[1]), 0);
        // At least the weights, their gradients and two running averages.
        EXPECT_GT(number(row[2]) * 1048576, 16.0 * 2 * (4 * 64 * 64 + 3 * 64 * 128));
    }
}

} // namespace
} // namespace ordo::lab
