// SPDX-License-Identifier: MIT
// Compares with printed tables, published figures, and values worked out by hand.
#include "tools/lab/math/comparisons.h"

#include <gtest/gtest.h>

namespace ordo::lab {
namespace {

TEST(LabComparisons, ChiSquareTable) {
    const struct {
        int degrees;
        double p95, p99;
    } table[] = {{1, 3.841, 6.635}, {2, 5.991, 9.210}, {5, 11.070, 15.086}, {10, 18.307, 23.209}, {15, 24.996, 30.578}};
    for (const auto& row : table) {
        EXPECT_NEAR(chi_square_above(row.p95, row.degrees), 0.05, 2e-5) << row.degrees;
        EXPECT_NEAR(chi_square_above(row.p99, row.degrees), 0.01, 1e-5) << row.degrees;
    }
    EXPECT_EQ(chi_square_above(0, 3), 1);
}

// Beall 1942: insects counted under six sprays. This is R's InsectSprays, whose manual prints K-squared = 25.96, p =
// 9.085e-05.
TEST(LabComparisons, PoolsTheSpreadAndTestsItAsBartlettDoes) {
    const std::vector<Vector> sprays{{10, 7, 20, 14, 14, 12, 10, 23, 17, 20, 14, 13},
                                     {11, 17, 21, 11, 16, 14, 17, 17, 19, 21, 7, 13},
                                     {0, 1, 7, 2, 3, 1, 2, 1, 3, 0, 1, 4},
                                     {3, 5, 12, 6, 4, 3, 5, 5, 5, 5, 2, 4},
                                     {3, 5, 3, 5, 3, 6, 1, 1, 3, 2, 6, 4},
                                     {11, 9, 15, 22, 15, 16, 13, 10, 26, 26, 24, 13}};
    const Spread spread = pooled_spread(sprays);
    EXPECT_EQ(spread.degrees, 66);
    EXPECT_NEAR(spread.p, 9.085e-05, 5e-9);
    EXPECT_NEAR(spread.deviation, 3.922, 5e-4); // the residual standard error of the same data
    // A group of one value has no spread. The groups 1, 2, 3 and 4, 8 have squares 2 + 8 over 2 + 1 degrees of freedom.
    const Spread small = pooled_spread(std::vector<Vector>{{1, 2, 3}, {7}, {4, 8}});
    EXPECT_NEAR(small.deviation, std::sqrt(10.0 / 3), 1e-12);
    EXPECT_EQ(small.groups, 2);
    EXPECT_TRUE(std::isnan(pooled_spread(std::vector<Vector>{{1}, {2}}).deviation));
}

// Dunnett 1964, Biometrics 20, 482-491, table II: two-sided, 5 %, with equally many values in each group and the
// control.
TEST(LabComparisons, DunnettsTable) {
    const struct {
        int degrees;
        double critical[9];
    } table[] = {{5, {2.57, 3.03, 3.29, 3.48, 3.62, 3.73, 3.82, 3.90, 3.97}},
                 {10, {2.23, 2.57, 2.76, 2.89, 2.99, 3.07, 3.14, 3.19, 3.24}},
                 {12, {2.18, 2.50, 2.68, 2.81, 2.90, 2.98, 3.04, 3.09, 3.14}},
                 {20, {2.09, 2.38, 2.54, 2.65, 2.73, 2.80, 2.86, 2.90, 2.95}},
                 {60, {2.00, 2.27, 2.41, 2.51, 2.58, 2.64, 2.69, 2.73, 2.77}}};
    for (const auto& row : table)
        for (std::size_t k = 1; k <= std::size(row.critical); ++k)
            EXPECT_NEAR(dunnett_critical(Vector(k, std::sqrt(0.5)), row.degrees), row.critical[k - 1], 0.0051)
                << row.degrees << " " << k;
    // A single comparison is Student's, whatever its weight. Several need a larger point, and independent ones the
    // largest.
    EXPECT_NEAR(dunnett_critical(Vector{0.5}, 12), 2.1788, 1e-3);
    EXPECT_NEAR(dunnett_within(2.1788, Vector{0.9}, 12), 0.95, 1e-4);
    EXPECT_LT(dunnett_critical(Vector(5, 0.9), 12), dunnett_critical(Vector(5, 0.1), 12));
    EXPECT_NEAR(dunnett_within(2.0, Vector(3, 1e-6), 100000), std::pow(0.9544997, 3), 1e-4);
}

// 0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04, which is raised to the value before it.
TEST(LabComparisons, HolmsProbabilities) {
    const Vector adjusted = holm({0.01, 0.04, 0.03, 0.005}), expected{0.03, 0.06, 0.06, 0.02};
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
    EXPECT_EQ(holm({0.7, 0.9}), (Vector{1, 1}));
    EXPECT_TRUE(holm({}).empty());
}

TEST(LabComparisons, StudentsTails) {
    EXPECT_NEAR(student_beyond(-2.179, 12), 0.05, 1e-4);
    EXPECT_NEAR(student_beyond(3.055, 12), 0.01, 1e-4);
}

} // namespace
} // namespace ordo::lab
