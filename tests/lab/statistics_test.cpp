// SPDX-License-Identifier: MIT
// Against the printed table of Student's t distribution.
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

// 1, 2, 3: deviation 1, 4.3027 / sqrt(3).
TEST(LabStatistics, IntervalOfThree) {
    const Mean m = mean_of(std::vector<double>{1, 2, 3});
    EXPECT_DOUBLE_EQ(m.mean, 2);
    EXPECT_NEAR(m.half, 2.4841, 1e-4);
    EXPECT_NEAR(m.low(), -0.4841, 1e-4);
    EXPECT_NEAR(m.high(), 4.4841, 1e-4);
}

TEST(LabStatistics, OneValueHasNoInterval) {
    const Mean m = mean_of(std::vector<double>{5});
    EXPECT_EQ(m.mean, 5);
    EXPECT_TRUE(std::isnan(m.half));
}

} // namespace
} // namespace ordo::lab
