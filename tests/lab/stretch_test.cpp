// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"

namespace ordo::lab {

extern const Experiment stretch_experiment;

namespace {

using test::cell;

class LabStretch : public testing::Test {
protected:
    static void SetUpTestSuite() { result = std::make_unique<Result>(test::run(stretch_experiment)); }
    static void TearDownTestSuite() { result.reset(); }
    static inline std::unique_ptr<Result> result;
};

// The formula: the same rotation, twice the length in the second turn; a norm divides by the length.
TEST_F(LabStretch, NormTakesTheStretchAway) {
    const tools::Figures& table = test::table(*result, "after-norm");
    for (const char* period : {"36", "6"}) {
        EXPECT_NEAR(cell(table, {{"period", period}}, "length_later_over_here"), 2, 1e-5);
        EXPECT_GT(cell(table, {{"period", period}}, "rms_norm_least_cosine"), 0.999999);
        EXPECT_GT(cell(table, {{"period", period}}, "layer_norm_least_cosine"), 0.999999);
    }
}

// s(t) |x| = 0.1 (floor(t / 36) + 1) |x| by hand.
TEST_F(LabStretch, ScaleGrowsByATenthWithEachTurn) {
    const tools::Figures& table = test::table(*result, "scale");
    const std::pair<const char*, double> expected[] = {{"0", .1}, {"35", .1}, {"36", .2}, {"107", .3}, {"360", 1.1}};
    for (const auto& [position, step] : expected) {
        const double length = cell(table, {{"position", position}}, "length_before");
        EXPECT_NEAR(cell(table, {{"position", position}}, "after_over_before"), step * length, 1e-5) << position;
    }
}

TEST_F(LabStretch, PositionsAPeriodApartMeetAndNoOthers) {
    const tools::Figures& table = test::table(*result, "collisions");
    EXPECT_EQ(cell(table, {{"position", "0"}, {"other", "36"}}, "apart"), 0);
    EXPECT_EQ(cell(table, {{"position", "1"}, {"other", "37"}}, "apart"), 0);
    EXPECT_NEAR(cell(table, {{"position", "1"}, {"other", "36"}}, "apart"), 2 * std::acos(-1) / 36, 1e-9);
    EXPECT_EQ(cell(table, {{"position", "0"}, {"other", "6"}}, "apart"), 0);
    EXPECT_NEAR(cell(table, {{"position", "1"}, {"other", "6"}}, "apart"), 2 * std::acos(-1) / 6, 1e-9);
}

// 44 and 710 are near 7 and 113 turns: convergents of 2 pi.
TEST_F(LabStretch, WavesOfOneRadianNearlyMeetAt44And710) {
    const tools::Figures& table = test::table(*result, "near-collisions");
    EXPECT_NEAR(cell(table, {{"offset", "44"}}, "pair_0_off_by_radians"), .0177, 5e-5);
    EXPECT_NEAR(cell(table, {{"offset", "710"}}, "pair_0_off_by_radians"), 6.0e-5, 5e-7);
    EXPECT_GT(cell(table, {{"offset", "710"}}, "row_distance_width_128"), 1);
}

} // namespace
} // namespace ordo::lab
