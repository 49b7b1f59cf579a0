// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"

namespace ordo::lab {

extern const Experiment worked_examples_experiment;

namespace {

using test::cell;
using test::number;

class LabWorkedExamples : public testing::Test {
protected:
    static void SetUpTestSuite() { result = std::make_unique<Result>(test::run(worked_examples_experiment)); }
    static void TearDownTestSuite() { result.reset(); }
    static inline std::unique_ptr<Result> result;
};

// sin and cos of p and p / 100.
TEST_F(LabWorkedExamples, ThreeWordsOfWidthFour) {
    const double expected[3][4] = {{0, 1, 0, 1}, {.8415, .5403, .0100, 1.0000}, {.9093, -.4161, .0200, .9998}};
    const tools::Figures& table = test::table(*result, "width-4");
    ASSERT_EQ(table.rows.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(number(table.rows[i][j + 1]), expected[i][j], 5.1e-5);
}

TEST_F(LabWorkedExamples, NotebookOfWidthSix) {
    const tools::Figures& denominators = test::table(*result, "denominators");
    const double expected[] = {1.0000, 21.5443, 464.1590};
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(number(denominators.rows[k][1]) / expected[k], 1, 3e-6);
    const tools::Figures& angles = test::table(*result, "width-6-angle");
    EXPECT_NEAR(number(angles.rows[9][1]), 9, 1e-12);
    EXPECT_NEAR(number(angles.rows[9][2]), .41774, 5e-6);
    EXPECT_NEAR(number(angles.rows[9][3]), .01939, 5e-6);
    EXPECT_EQ(test::table(*result, "width-6-stack").rows.size(), 30u);
    const tools::Figures& pe = test::table(*result, "width-6");
    const double last[] = {.4121, -.9111, .4057, .9140, .0194, .9998};
    for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(number(pe.rows[9][j + 1]), last[j], 5.1e-5);
    EXPECT_NE(result->found[0].find("reproduced"), std::string::npos);
}

// Press et al. 2022, section 3: minus the distance, and 2^(-8/n) to the powers 1 .. n.
TEST_F(LabWorkedExamples, AlibiOfThreePositionsAndItsSlopes) {
    const tools::Figures& bias = test::table(*result, "alibi-3x3");
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const double value = number(bias.rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j) + 1]);
            EXPECT_EQ(value, j > i ? -HUGE_VAL : j - i);
        }
    const tools::Figures& slopes = test::table(*result, "alibi-slopes");
    for (int h = 0; h < 8; ++h)
        EXPECT_NEAR(cell(slopes, {{"heads", "8"}, {"head", std::to_string(h)}}, "slope"), std::pow(0.5, h + 1), 1e-12);
    const double tail[] = {.7071, .3536, .1768, .0884};
    for (int h = 0; h < 4; ++h)
        EXPECT_NEAR(cell(slopes, {{"heads", "12"}, {"head", std::to_string(8 + h)}}, "slope"), tail[h], 5e-5);
}

} // namespace
} // namespace ordo::lab
