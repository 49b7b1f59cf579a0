// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"

namespace ordo::lab {
namespace {

using test::number;

const Result& worked_result() {
    static const Result once = test::run(worked_examples_experiment);
    return once;
}

// sin and cos of p and p / 100.
TEST(LabWorkedExamples, ThreeWordsOfWidthFour) {
    const double expected[3][4] = {{0, 1, 0, 1}, {.8415, .5403, .0100, 1.0000}, {.9093, -.4161, .0200, .9998}};
    const tools::Figures& table = test::table(worked_result(), "width-4");
    ASSERT_EQ(table.rows.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(number(table.rows[i][j + 2]), expected[i][j], 5.1e-5);
}

TEST(LabWorkedExamples, NotebookOfWidthSix) {
    const tools::Figures& denominators = test::table(worked_result(), "denominators");
    const double expected[] = {1.0000, 21.5443, 464.1590};
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(number(denominators.rows[k][1]) / expected[k], 1, 3e-6);
    const tools::Figures& angles = test::table(worked_result(), "width-6-angle");
    EXPECT_NEAR(number(angles.rows[9][1]), 9, 1e-12);
    EXPECT_NEAR(number(angles.rows[9][2]), .41774, 5e-6);
    EXPECT_NEAR(number(angles.rows[9][3]), .01939, 5e-6);
    const tools::Figures& stack = test::table(worked_result(), "width-6-stack");
    ASSERT_EQ(stack.rows.size(), 30u); // [10, 3, 2]: position 9, pair 1 is row 28
    EXPECT_EQ(number(stack.rows[28][0]), 9);
    EXPECT_EQ(number(stack.rows[28][1]), 1);
    EXPECT_NEAR(number(stack.rows[28][2]), .4057, 5.1e-5);
    EXPECT_NEAR(number(stack.rows[28][3]), .9140, 5.1e-5);
    const tools::Figures& pe = test::table(worked_result(), "width-6");
    const double last[] = {.4121, -.9111, .4057, .9140, .0194, .9998};
    for (std::size_t j = 0; j < 6; ++j) EXPECT_NEAR(number(pe.rows[9][j + 1]), last[j], 5.1e-5);
    EXPECT_TRUE(worked_result().answer.starts_with("The tables are right")) << worked_result().answer;
}

// Rows 1 and 4 of the notebook's class, as the notebook prints them, next to its own correct table.
TEST(LabWorkedExamples, ClassBesideTheRightTable) {
    const tools::Figures& table = test::table(worked_result(), "class-test");
    ASSERT_EQ(table.rows.size(), 20u); // 10 positions, each twice
    ASSERT_EQ(table.columns.size(), 14u);
    const double one[] = {-9.9749e-01, -7.0741e-02, 4.6416e-04, 1, 4.6416e-08, 1,
                          4.6416e-12,  1,           4.6416e-16, 1, 4.6416e-20, 1};
    for (std::size_t j = 0; j < 12; ++j) EXPECT_NEAR(number(table.rows[2][j + 2]) / one[j], 1, 1e-5) << j;
    EXPECT_NEAR(number(table.rows[8][4]), 1.8566e-03, 1e-7);
    EXPECT_NEAR(number(table.rows[3][2]), .8415, 5.1e-5);
    EXPECT_NEAR(number(table.rows[3][4]), .0464, 5.1e-5);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(table.rows[3][8])); // the correct table has 6 columns
}

TEST(LabWorkedExamples, SegmentsAddOneRowToAllTheirWords) {
    const tools::Figures& table = test::table(worked_result(), "segments");
    ASSERT_EQ(table.rows.size(), 18u); // p, s and the sum for six words
    for (std::size_t i = 0; i < 6; ++i) {
        const std::size_t p = 3 * i, s = p + 1, segment = 3 * (i / 3 * 3) + 1;
        for (std::size_t j = 3; j < 7; ++j) {
            EXPECT_EQ(number(table.rows[s][j]), number(table.rows[segment][j]));
            EXPECT_NE(number(table.rows[1][j]), number(table.rows[10][j]));
            EXPECT_NEAR(number(table.rows[s + 1][j]), number(table.rows[p][j]) + number(table.rows[s][j]), 1e-6);
        }
        EXPECT_NEAR(number(table.rows[p][3]), std::sin(static_cast<double>(i)), 1e-6);
    }
}

// U(-b, b) with b = 1/sqrt(10) has a deviation of b / sqrt(3).
TEST(LabWorkedExamples, KaimingStartIsUniform) {
    const auto at = [](const char* what) { return test::cell(worked_result(), "learned-start", 0, what); };
    const double bound = 1 / std::sqrt(10);
    EXPECT_NEAR(at("most"), bound, 1e-3 * bound);
    EXPECT_NEAR(at("least"), -bound, 1e-3 * bound);
    EXPECT_NEAR(at("deviation"), bound / std::sqrt(3), 0.01 * bound);
}

TEST(LabWorkedExamples, ShapesAreThoseOfTheTexts) {
    std::vector<std::string> shapes;
    for (const auto& row : test::table(worked_result(), "shapes").rows) shapes.push_back(std::get<std::string>(row[1]));
    EXPECT_EQ(shapes,
              (std::vector<std::string>{"(128, 1, 8)", "(256)", "(100, 512)", "(10, 3)", "(10, 3, 2)", "(10, 6)"}));
}

} // namespace
} // namespace ordo::lab
