// SPDX-License-Identifier: MIT
// Compares with printed tables, published figures, and values worked out by hand.
#include "tools/lab/math/comparisons.h"

#include <gtest/gtest.h>

namespace ordo::lab {
namespace {

// Beall 1942: insects counted under six sprays. This is R's InsectSprays, whose residual standard error R prints as
// 3.922 on 66 degrees of freedom.
TEST(LabComparisons, PoolsTheSpread) {
    const std::vector<Vector> sprays{{10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13},
                                     {11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13},
                                     {0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4},
                                     {3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4},
                                     {3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4},
                                     {11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13}};
    const Spread spread = pooled_spread(sprays);
    EXPECT_EQ(spread.degrees, 66);
    EXPECT_NEAR(spread.deviation, 3.922, 5e-4);
    // A group of one value has no spread. The groups 1, 2, 3 and 4, 8 have squares 2 + 8 over 2 + 1 degrees of freedom.
    const Spread small = pooled_spread(std::vector<Vector>{{1, 2, 3}, {7}, {4, 8}});
    EXPECT_NEAR(small.deviation, std::sqrt(10.0 / 3), 1e-12);
    EXPECT_EQ(small.groups, 2);
    EXPECT_TRUE(std::isnan(pooled_spread(std::vector<Vector>{{1}, {2}}).deviation));
}

// The pooled variance is 10/3, with 3 degrees of freedom, which bound all others. That of 4, 8 is 8, that of 1, 2, 3 is
// 1.
TEST(LabComparisons, AGroupsSpreadIsItsOwnOrThePooledOne) {
    const Spread spread = pooled_spread(std::vector<Vector>{{1, 2, 3}, {7}, {4, 8}});
    EXPECT_NEAR(error_of_mean({4, 8}, spread).square, 4, 1e-12);
    EXPECT_NEAR(error_of_mean({1, 2, 3}, spread).square, 10.0 / 9, 1e-12);
    EXPECT_NEAR(error_of_mean({7}, spread).square, 10.0 / 3, 1e-12);
    EXPECT_EQ(error_of_mean({1, 2, 3}, spread).degrees, 3);
    const Spread known{.deviation = 1, .degrees = 100, .groups = 50};
    EXPECT_EQ(error_of_mean({7}, known).degrees, 4);
    EXPECT_EQ(error_of_mean({1, 2, 3}, known).degrees, 6);
}

// Student 1908: the sleep data. R's t.test(extra ~ group, data = sleep) prints t = -1.8608, df = 17.776.
TEST(LabComparisons, DegreesOfFreedomOfWelch) {
    const Vector one{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0},
        two{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
    const auto part = [](const Vector& values) {
        return ErrorPart{std::pow(sample_of(values).deviation(), 2) / 10, 9};
    };
    EXPECT_EQ(satterthwaite(std::array{part(one), part(two)}), 17);
    EXPECT_NEAR((sample_of(one).mean() - sample_of(two).mean()) / std::sqrt(part(one).square + part(two).square),
                -1.8608, 5e-5);
    EXPECT_EQ(satterthwaite(std::array{ErrorPart{1, 5}, ErrorPart{0, 1}}), 5); // the degrees of the only part
    EXPECT_EQ(satterthwaite(std::array{ErrorPart{0, 5}}), 1);
}

// Student's points of 0.5 % in one tail: five comparisons with two tails, ten with one.
TEST(LabComparisons, CorrectsForTheNumberOfComparisons) {
    EXPECT_NEAR(critical(10, 5), 3.169, 6e-4);
    EXPECT_NEAR(critical(29, 5), 2.756, 6e-4);
    EXPECT_NEAR(critical_one_sided(10, 10), 3.169, 6e-4);
    EXPECT_NEAR(critical(4, 1), 2.776, 6e-4);
}

TEST(LabComparisons, StudentsTails) {
    EXPECT_NEAR(student_beyond(-2.179, 12), 0.05, 1e-4);
    EXPECT_NEAR(student_beyond(3.055, 12), 0.01, 1e-4);
    EXPECT_EQ(student_beyond(1e6, 12), 1e-12); // rounding alone would decide how much less
}

} // namespace
} // namespace ordo::lab
