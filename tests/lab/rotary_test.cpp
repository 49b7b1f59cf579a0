// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"

#include <tuple>

namespace ordo::lab {
namespace {

using test::cell;

const Result& rotary_result() {
    static const Result once = test::run(rotary_experiment);
    return once;
}

// Su et al. 2021, eq. 16: the identity is exact, and the other sign gives another matrix.
TEST(LabRotary, ProductIsTheRotationOfTheDifference) {
    const tools::Figures& table = test::table(rotary_result(), "product");
    ASSERT_GE(table.rows.size(), 5u);
    double other_sign = 0;
    for (const auto& row : table.rows) {
        EXPECT_LT(test::number(row[2]), 1e-12);
        EXPECT_GT(test::number(row[3]), 0.1);
        other_sign = std::max(other_sign, test::number(row[3]));
    }
    EXPECT_NEAR(other_sign, 2.0, 1e-3);
}

// (R_i W_q x)^T (R_j W_k y) = x^T W_q^T R_(j-i) W_k y. Without the transpose, or with the other sign, this fails.
TEST(LabRotary, ScoreNeedsTheTransposeThatThePaperLeavesOut) {
    const tools::Figures& table = test::table(rotary_result(), "corrected");
    ASSERT_EQ(table.rows.size(), 5u);
    for (const auto& row : table.rows) {
        EXPECT_LT(std::abs(test::number(row[3])), 1e-12);
        EXPECT_GT(std::abs(test::number(row[4])), 0.1);
        EXPECT_GT(std::abs(test::number(row[5])), 0.1);
    }
}

// The cosine and the partial sums of the formula, worked out independently of the engine.
TEST(LabRotary, AlignedScoresAndTheBoundFallAsTheFormulaSays) {
    const tools::Figures& table = test::table(rotary_result(), "distance");
    const std::tuple<const char*, double, double> expected[] = {{"1", .970, 31.5},   {"5", .737, 20.9},
                                                                {"10", .669, 18.0},  {"20", .608, 15.2},
                                                                {"100", .477, 10.2}, {"1000", .159, 4.5}};
    for (const auto& [distance, cosine, bound] : expected) {
        EXPECT_NEAR(cell(table, {{"distance", distance}}, "aligned_mean_cos"), cosine, 6e-4) << distance;
        EXPECT_NEAR(cell(table, {{"distance", distance}}, "bound_mean_abs_S"), bound, 0.06) << distance;
    }
}

// The mean of the cosines of 100 theta^(-2k/128), worked out independently of the engine. As a bound, the curve lies
// above the score at every distance (RoFormer, section 3.4.3).
TEST(LabRotary, TheBoundIsDrawnAboveTheScore) {
    const auto& curves = test::picture<Curves>(rotary_result(), "decay");
    ASSERT_EQ(curves.series.size(), 2u);
    ASSERT_GE(curves.series[0].y.size(), 10u);
    for (std::size_t i = 0; i < curves.series[0].y.size(); ++i) {
        EXPECT_EQ(curves.series[0].x[i], curves.series[1].x[i]);
        EXPECT_GE(curves.series[0].y[i], 0);
        EXPECT_LT(curves.series[0].y[i], curves.series[1].y[i]);
    }
}

TEST(LabRotary, GreaterBasesDecayLater) {
    const auto& curves = test::picture<Curves>(rotary_result(), "bases").series;
    ASSERT_EQ(curves.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        const double theta = std::pow(100.0, static_cast<double>(i) + 1);
        for (const std::size_t at : {0u, 9u, 40u}) {
            double mean = 0;
            for (int k = 0; k < 64; ++k) mean += std::cos(curves[i].x[at] * std::pow(theta, -k / 64.0)) / 64;
            EXPECT_NEAR(curves[i].y[at], mean, 1e-5) << theta << " " << at;
        }
    }
}

// The variance of a product of two standard normal vectors is their width.
TEST(LabRotary, RandomScoresAreNoiseAtEveryDistance) {
    for (const auto& row : test::table(rotary_result(), "distance").rows) {
        const double mean = test::number(row[1]), error = test::number(row[2]), deviation = test::number(row[3]);
        EXPECT_LT(std::abs(mean), 5 * error);
        EXPECT_NEAR(deviation, std::sqrt(128.0), 1.5);
    }
}

TEST(LabRotary, PositiveExponentLeavesNoSlowPair) {
    const tools::Figures& table = test::table(rotary_result(), "positive-exponent");
    const double frequency[] = {1, 10, 100, 1000}, left[] = {1.0, -2.566, -.531, .974};
    ASSERT_EQ(table.rows.size(), 4u);
    for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_NEAR(test::number(table.rows[k][1]), 1 / frequency[k], 1e-12);
        EXPECT_NEAR(test::number(table.rows[k][2]), frequency[k], 1e-9);
        EXPECT_NEAR(test::number(table.rows[k][3]), left[k], 6e-4);
    }
}

TEST(LabRotary, PairingsDifferByAPermutationAlone) {
    const tools::Figures& checks = test::table(rotary_result(), "checks");
    EXPECT_LT(cell(checks, {{"check", "halves, permuted, compared with adjacent"}}, "largest_difference"), 1e-5);
    EXPECT_LT(cell(checks, {{"check", "both positions moved by 1000"}}, "largest_difference"), 1e-4);
}

} // namespace
} // namespace ordo::lab
