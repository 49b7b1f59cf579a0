// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"

namespace ordo::lab {

extern const Experiment worked_examples_experiment;

namespace {

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
        for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(number(table.rows[i][j + 2]), expected[i][j], 5.1e-5);
}

TEST_F(LabWorkedExamples, NotebookOfWidthSix) {
    const tools::Figures& denominators = test::table(*result, "denominators");
    const double expected[] = {1.0000, 21.5443, 464.1590};
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(number(denominators.rows[k][1]) / expected[k], 1, 3e-6);
    const tools::Figures& angles = test::table(*result, "width-6-angle");
    EXPECT_NEAR(number(angles.rows[9][1]), 9, 1e-12);
    EXPECT_NEAR(number(angles.rows[9][2]), .41774, 5e-6);
    EXPECT_NEAR(number(angles.rows[9][3]), .01939, 5e-6);
    const tools::Figures& stack = test::table(*result, "width-6-stack");
    ASSERT_EQ(stack.rows.size(), 30u); // [10, 3, 2]: position 9, pair 1 is row 28
    EXPECT_EQ(number(stack.rows[28][0]), 9);
    EXPECT_EQ(number(stack.rows[28][1]), 1);
    EXPECT_NEAR(number(stack.rows[28][2]), .4057, 5.1e-5);
    EXPECT_NEAR(number(stack.rows[28][3]), .9140, 5.1e-5);
    const tools::Figures& pe = test::table(*result, "width-6");
    const double last[] = {.4121, -.9111, .4057, .9140, .0194, .9998};
    for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(number(pe.rows[9][j + 1]), last[j], 5.1e-5);
    EXPECT_NE(result->found[0].find("reproduced"), std::string::npos);
}

} // namespace
} // namespace ordo::lab
