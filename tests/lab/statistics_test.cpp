// SPDX-License-Identifier: MIT
// Compares with printed tables, published figures, and values worked out by hand.
#include "tools/lab/math/comparisons.h"
#include "tools/lab/math/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace ordo::lab {
namespace {

TEST(LabStatistics, StudentsTable) {
    const struct {
        int degrees;
        double p95, p975, p995;
    } table[] = {{1, 6.314, 12.706, 63.657}, {2, 2.920, 4.303, 9.925},  {3, 2.353, 3.182, 5.841},
                 {4, 2.132, 2.776, 4.604},   {9, 1.833, 2.262, 3.250},  {10, 1.812, 2.228, 3.169},
                 {29, 1.699, 2.045, 2.756},  {120, 1.658, 1.980, 2.617}};
    for (const auto& row : table) {
        EXPECT_NEAR(t_quantile(0.95, row.degrees), row.p95, 0.0006) << row.degrees;
        EXPECT_NEAR(t_quantile(0.975, row.degrees), row.p975, 0.0006) << row.degrees;
        EXPECT_NEAR(t_quantile(0.995, row.degrees), row.p995, 0.0006) << row.degrees;
        EXPECT_NEAR(t_quantile(0.05, row.degrees), -row.p95, 0.0006) << row.degrees;
    }
    EXPECT_NEAR(t_quantile(0.5, 7), 0, 1e-9);
}

// 1, 2, 3: the deviation is 1, and the half width 4.3027 / sqrt(3).
TEST(LabStatistics, IntervalOfThree) {
    const Mean m = mean_of(std::vector<double>{1, 2, 3});
    EXPECT_DOUBLE_EQ(m.mean, 2);
    EXPECT_NEAR(m.half, 2.4841, 1e-4);
    EXPECT_NEAR(m.low(), -0.4841, 1e-4);
    EXPECT_NEAR(m.high(), 4.4841, 1e-4);
    EXPECT_TRUE(std::isnan(mean_of(std::vector<double>{5}).half)); // one value has no interval
}

// The sums are 4, 10 and 3 of 2, 4 and 1 values, with a mean of 17/7. They differ from it by -6/7, 2/7 and 4/7, with
// squares of 8/7 in total. The half width is sqrt(8/7 3/2) / 7 times 4.3027.
TEST(LabStatistics, IntervalOverClusters) {
    const Mean m = mean_of_clusters(std::vector<double>{1, 3, 2, 2, 3, 3, 3}, std::vector<int>{7, 7, 2, 2, 2, 2, 9});
    EXPECT_NEAR(m.mean, 17 / 7.0, 1e-12);
    EXPECT_NEAR(m.half, 0.80479, 1e-4);
    EXPECT_TRUE(std::isnan(mean_of_clusters(std::vector<double>{1, 2}, std::vector<int>{0, 0}).half));
    // Clusters of one value are single runs.
    const std::vector<double> values{1, 2, 3};
    EXPECT_NEAR(mean_of_clusters(values, std::vector<int>{0, 1, 2}).half, mean_of(values).half, 1e-12);
}

// Newcombe 1998, Statistics in Medicine 17, 857-872, table I, method 3.
TEST(LabStatistics, WilsonsIntervalAsPublished) {
    const struct {
        int right, of;
        double low, high;
    } published[] = {{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}};
    for (const auto& row : published) {
        const Interval found = wilson(row.right, row.of), mirrored = wilson(row.of - row.right, row.of);
        EXPECT_NEAR(found.low, row.low, 5e-5) << row.right;
        EXPECT_NEAR(found.high, row.high, 5e-5) << row.right;
        EXPECT_NEAR(mirrored.low, 1 - found.high, 1e-12);
        EXPECT_NEAR(mirrored.high, 1 - found.low, 1e-12);
    }
    EXPECT_EQ(wilson(5, 5).high, 1);
    EXPECT_EQ(wilson(0, 5).low, 0);
}

// The roots of (p - x)^2 = t^2 x (1 - x) / n, worked out independently of this program.
TEST(LabStatistics, SharesOfRunsStayProbabilities) {
    // The mean is 0.87, and the variance of the mean 0.0029, as for 39 trials.
    const Share five = share_of(std::vector<double>{0.9, 1, 0.8, 0.95, 0.7});
    EXPECT_NEAR(five.mean, 0.87, 1e-12);
    EXPECT_NEAR(five.interval.low, 0.6592887, 1e-6);
    EXPECT_NEAR(five.interval.high, 0.9585841, 1e-6);
    // The effective number of trials is at most the actual one: here 3 times 64, all right.
    const Share all = share_of(std::vector<double>{1, 1, 1}, 64);
    EXPECT_NEAR(all.interval.low, 0.9120585, 1e-6);
    EXPECT_NEAR(all.interval.high, 1, 1e-12);
    EXPECT_LE(all.interval.high, 1);
    for (const double nearly : {1e-9, 1e-3, 0.5, 0.999}) {
        const Share two = share_of(std::vector<double>{nearly, nearly / 2});
        EXPECT_GE(two.interval.low, 0) << nearly;
        EXPECT_LE(two.interval.high, 1) << nearly;
        EXPECT_TRUE(two.interval.low <= two.mean && two.mean <= two.interval.high) << nearly;
    }
    EXPECT_FALSE(share_of(std::vector<double>{1}, 64).interval.known());
}

TEST(LabStatistics, VerdictsAreOfIntervals) {
    using enum Verdict;
    for (const auto& [bound, is_above, is_below] :
         {std::tuple{0.5, held, missed}, {1.5, undecided, undecided}, {2.5, missed, held}}) {
        EXPECT_EQ(above({1, 2}, bound), is_above);
        EXPECT_EQ(below({1, 2}, bound), is_below);
    }
    for (const auto& [least, most, verdict] :
         {std::tuple{0.5, 2.5, held}, {0.5, 1.5, undecided}, {1.5, 2.5, undecided}, {2.5, 3.5, missed}})
        EXPECT_EQ(between({1, 2}, least, most), verdict);
    // A single run is never enough for a decision.
    for (const Verdict verdict : {above({}, 0), below({}, 0), between({}, -1, 1)})
        EXPECT_EQ(verdict, Verdict::undecided);
}

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
