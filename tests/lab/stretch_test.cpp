// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"

namespace ordo::lab {
namespace {

using test::cell;
using test::number;

const Result& stretch_result() {
    static const Result once = test::run(stretch_experiment);
    return once;
}

// The formula gives the same rotation and twice the length in the second turn. A norm divides by the length.
TEST(LabStretch, NormTakesTheStretchAway) {
    const tools::Figures& table = test::table(stretch_result(), "after-norm");
    ASSERT_EQ(table.rows.size(), 4u); // two periods, a short and a long embedding
    for (const auto& row : table.rows) {
        EXPECT_NEAR(number(row[2]), 2, 1e-5);
        for (const std::size_t cosine : {4, 6}) EXPECT_GT(number(row[cosine]), 0.999999);
        for (const std::size_t ratio : {3, 5}) EXPECT_NEAR(number(row[ratio]), 1, number(row[1]) > 5 ? 1e-5 : 0.1);
    }
}

// s(t) |x| = 0.1 (floor(t / 36) + 1) |x| by hand.
TEST(LabStretch, ScaleGrowsByATenthWithEachTurn) {
    const tools::Figures& table = test::table(stretch_result(), "scale");
    const std::pair<const char*, double> expected[] = {{"0", .1}, {"35", .1}, {"36", .2}, {"107", .3}, {"360", 1.1}};
    for (const auto& [position, step] : expected) {
        const double length = cell(table, {{"position", position}}, "length_before");
        EXPECT_NEAR(cell(table, {{"position", position}}, "after_over_before"), step * length, 1e-5) << position;
    }
}

TEST(LabStretch, PositionsAPeriodApartMeetAndNoOthers) {
    const tools::Figures& table = test::table(stretch_result(), "collisions");
    EXPECT_EQ(cell(table, {{"position", "0"}, {"other", "36"}}, "apart"), 0);
    EXPECT_EQ(cell(table, {{"position", "1"}, {"other", "37"}}, "apart"), 0);
    EXPECT_NEAR(cell(table, {{"position", "1"}, {"other", "36"}}, "apart"), 2 * std::acos(-1) / 36, 1e-9);
    EXPECT_EQ(cell(table, {{"position", "0"}, {"other", "6"}}, "apart"), 0);
    EXPECT_NEAR(cell(table, {{"position", "1"}, {"other", "6"}}, "apart"), 2 * std::acos(-1) / 6, 1e-9);
}

// Each ratio names the length it belongs to. 1 > s(t) |x| holds until floor(t / 36) + 1 exceeds 10 / |x|.
TEST(LabStretch, SentencesNameTheLengthsThatTheyAreOf) {
    const tools::Figures& table = test::table(stretch_result(), "after-norm");
    const double small = number(table.rows[0][1]), large = number(table.rows[1][1]);
    const auto digits = [](double value) {
        char buffer[16];
        std::snprintf(buffer, sizeof buffer, "%.3g", value);
        return std::string(buffer);
    };
    EXPECT_TRUE(has(stretch_result().found[0], "a row of length " + digits(large) + " has"));
    EXPECT_TRUE(has(stretch_result().found[1], "for a length of " + digits(small)));
    const int turns = static_cast<int>(std::floor(10 / small));
    EXPECT_TRUE(has(stretch_result().pictures[0].title, "from position " + std::to_string(36 * turns) + " on"));
}

// 44 and 710 are near 7 and 113 periods, by convergents of 2 pi.
TEST(LabStretch, WavesOfOneRadianNearlyMeetAt44And710) {
    const tools::Figures& table = test::table(stretch_result(), "near-collisions");
    EXPECT_NEAR(cell(table, {{"offset", "44"}}, "pair_0_off_by_radians"), .0177, 5e-5);
    EXPECT_NEAR(cell(table, {{"offset", "710"}}, "pair_0_off_by_radians"), 6.0e-5, 5e-7);
    EXPECT_GT(cell(table, {{"offset", "710"}}, "row_distance_width_128"), 1);
}

} // namespace
} // namespace ordo::lab
