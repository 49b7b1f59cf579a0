// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "kernels/kernels.h"
#include "ops/softmax.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

namespace ordo {
namespace {

class SoftmaxOps : public ::testing::TestWithParam<const Kernels*> {
protected:
    void SetUp() override { select_kernels(GetParam()->name); }
    void TearDown() override { select_kernels("auto"); }
};

void check_softmax(int n, int first, int last) {
    std::vector<float> row(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < row.size(); ++i)
        row[i] = static_cast<float>(Random(3, static_cast<std::uint64_t>(n)).normal(i) * 5 + 1000);
    const std::vector<double> x(row.begin(), row.end());
    // Hidden scores are never read, whatever their value.
    for (int i = 0; i < n; ++i)
        if (i < first || i >= last) row[i] = std::nanf("");
    softmax_row(n, first, last, row.data());
    double total = 0;
    for (int i = first; i < last; ++i) total += std::exp(x[i] - 1000);
    for (int i = 0; i < n; ++i) {
        const float found = row[i];
        if (i < first || i >= last)
            EXPECT_EQ(found, 0);
        else
            EXPECT_NEAR(found, std::exp(x[i] - 1000) / total, 3e-7);
    }
}

TEST_P(SoftmaxOps, AgreesWithDoublesOverTheVisibleRange) {
    for (const int n : {1, 2, 15, 16, 17, 64, 257})
        for (const int first : {0, n / 3})
            for (const int last : {n, first + (n - first + 1) / 2}) check_softmax(n, first, last);
}

TEST_P(SoftmaxOps, SurvivesInfinitiesAndLargeSpreads) {
    std::vector<float> row = {-INFINITY, 0, -200, -INFINITY, -1e30f, 0};
    softmax_row(6, 0, 6, row.data());
    EXPECT_EQ(row, (std::vector<float>{0, 0.5f, 0, 0, 0, 0.5f}));
}

// An encoding may forbid all keys of one part and leave some of another.
TEST_P(SoftmaxOps, APartThatIsForbiddenWeighsNothing) {
    std::vector<float> part(20, -INFINITY), weights = {softmax_part(20, 0, 20, part.data()), -3.0f};
    EXPECT_EQ(part, std::vector<float>(20, 0.0f));
    EXPECT_EQ(weights[0], -INFINITY);
    softmax_row(2, 0, 2, weights.data());
    EXPECT_EQ(weights, (std::vector<float>{0, 1}));
}

// As with ALiBi over long texts. A weight times a value of 1e-5 is not subnormal either, because subnormals are slow.
TEST_P(SoftmaxOps, SharesAreNoughtOrFarFromSubnormal) {
    std::vector<float> row(2000);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = -0.1f * static_cast<float>(i);
    softmax_row(2000, 0, 2000, row.data());
    for (const float share : row) EXPECT_TRUE(share == 0 || share > 1e-31f) << share;
    EXPECT_GT(row[600], 1e-28f);
    EXPECT_EQ(row[700], 0);
}

// There are gaps between the rows, and a row is wider than a strip of columns.
TEST(SoftCap, AgreesWithDoublesAndLeavesTheRestAlone) {
    constexpr int cols = 2500, stride = 2503;
    for (const float cap : {0.5f, 30.0f}) {
        std::vector<float> values(5 * stride);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(Random(4, 1).normal(i) * 20);
        values[7] = 3e38f;
        values[8] = -3e38f;
        const std::vector<double> before(values.begin(), values.end());
        soft_cap(cap, {values.data(), 5, cols, stride});
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double c = static_cast<double>(cap);
            const double expected = i % stride < cols ? c * std::tanh(before[i] / c) : before[i];
            ASSERT_NEAR(values[i], expected, 1e-6 * c) << i;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, SoftmaxOps,
                         ::testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         [](const auto& set) { return std::string(set.param->name); });

} // namespace
} // namespace ordo
