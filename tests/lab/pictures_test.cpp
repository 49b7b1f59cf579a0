// SPDX-License-Identifier: MIT
// The tables and pictures of encodings: figures from the papers' formulas and from introductory texts.
#include "encoding/base/registry.h"
#include "encoding/base/stack.h"
#include "tests/lab/lab_run.h"
#include "tests/tools/models.h"
#include "tools/lab/drawing/draw.h"
#include "tools/lab/math/tsne.h"

#include <map>

namespace {

using namespace ordo;
using namespace ordo::test;
using namespace ordo::lab::test;
using lab::Curves;
using lab::HeatMap;

double sinusoid(int position, int column, int d) {
    const double angle = position / std::pow(10000.0, (column - column % 2) / static_cast<double>(d));
    return column % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

TEST(LabHeatMap, HoldsTheTableOfThePaper) {
    const lab::Result result = run("heat-map");
    const auto& small = picture<HeatMap>(result, "128x8");
    ASSERT_EQ(small.values.size(), 128u);
    for (int p = 0; p < 128; ++p)
        for (int c = 0; c < 8; ++c) EXPECT_NEAR(small.values[p][c], sinusoid(p, c, 8), 1e-12);
    const auto& far = picture<HeatMap>(result, "100x512-from-50000");
    EXPECT_EQ(far.first_y, 50000);
    EXPECT_NEAR(far.values.at(99).at(510), sinusoid(50099, 510, 512), 1e-9);
}

// Even dimensions are at 0 and odd ones at 1 only near the start.
TEST(LabHeatMap, TheSlowestPairLeavesItsStart) {
    const lab::Result result = run("heat-map");
    EXPECT_NEAR(cell(result, "last-pair", 0, "most"), 0.0103, 5e-5);
    EXPECT_NEAR(cell(result, "last-pair", 1, "least"), 0.99995, 5e-6);
    EXPECT_NEAR(cell(result, "last-pair", 2, "least"), std::sin(5000 * std::pow(10000.0, -510 / 512.0)), 1e-9);
    EXPECT_LT(cell(result, "last-pair", 4, "most"), -0.8); // from row 50,000
    // sin p changes its sign at every multiple of pi: 40 times up to 127 = 40.4 pi.
    EXPECT_EQ(cell(result, "columns-128x8", 0, "sign changes"), 40);
    EXPECT_EQ(cell(result, "columns-128x8", 6, "sign changes"), 0);
}

TEST(LabWaves, ThreeWordsSampleFourDimensions) {
    const lab::Result result = run("waves");
    const auto& marks = picture<Curves>(result, "4-dimensions").series.at(4);
    const double printed[3][4] = {{0, 1, 0, 1}, {.8415, .5403, .0100, 1.0000}, {.9093, -.4161, .0200, .9998}};
    ASSERT_EQ(marks.y.size(), 12u);
    for (std::size_t p = 0; p < 3; ++p)
        for (std::size_t c = 0; c < 4; ++c) {
            EXPECT_EQ(marks.x[4 * p + c], static_cast<double>(p));
            EXPECT_NEAR(marks.y[4 * p + c], printed[p][c], 6e-5);
        }
    for (std::size_t row = 0; row < 4; ++row) {
        EXPECT_LT(cell(result, "properties", row, "norm^2 off by"), 1e-12);
        EXPECT_EQ(cell(result, "properties", row, "off longer table"), 0);
        EXPECT_EQ(cell(result, "properties", row, "equal rows"), 0);
    }
}

TEST(LabWaves, TransposingAndCurvesMoveNoValue) {
    const lab::Result result = run("waves");
    const auto& turned = picture<HeatMap>(result, "transposed");
    ASSERT_EQ(turned.values.size(), 8u);
    EXPECT_NEAR(turned.values[3].at(7), sinusoid(7, 3, 8), 1e-12);
    const auto& odd = picture<Curves>(result, "odd-dimensions").series.at(2); // position 50
    EXPECT_EQ(odd.x.at(4), 9);
    EXPECT_NEAR(odd.y.at(4), sinusoid(50, 9, 512), 1e-12);
}

TEST(LabWaves, AnglesAndTheWholeRowAreThoseOfThePaper) {
    const lab::Result result = run("waves");
    const auto& angles = picture<Curves>(result, "angles");
    ASSERT_EQ(angles.series.size(), 4u);
    const int positions[] = {1, 10, 50, 99};
    for (std::size_t s = 0; s < 4; ++s) {
        ASSERT_EQ(angles.series[s].x.size(), 256u);
        for (const int pair : {0, 7, 255}) {
            const auto i = static_cast<std::size_t>(pair);
            EXPECT_EQ(angles.series[s].x[i], 2 * pair);
            EXPECT_NEAR(angles.series[s].y[i] / (positions[s] / std::pow(10000.0, 2 * pair / 512.0)), 1, 1e-12);
        }
    }
    const auto& each = picture<Curves>(result, "each-position").series;
    ASSERT_EQ(each.size(), 5u);
    EXPECT_NEAR(each[2].y.at(40), 5 + sinusoid(10, 40, 512), 1e-12);
    // The mean of cos(10000^(-k/256) (offset - 5)) over k = 0 .. 255.
    const auto& asking = picture<Curves>(result, "asking").series.at(1);
    for (const int offset : {0, 5, 10, 64}) {
        double mean = 0;
        for (int k = 0; k < 256; ++k) mean += std::cos((offset - 5) * std::pow(10000.0, -k / 256.0)) / 256;
        EXPECT_NEAR(asking.y.at(static_cast<std::size_t>(offset)), mean, 1e-9) << offset;
    }
    const auto& whole = picture<Curves>(result, "all-dimensions").series;
    ASSERT_EQ(whole.size(), 1u);
    ASSERT_EQ(whole[0].x.size(), 512u);
    for (const int column : {0, 1, 100, 511}) {
        EXPECT_EQ(whole[0].x[column], column);
        EXPECT_NEAR(whole[0].y[column], sinusoid(50, column, 512), 1e-12);
    }
}

TEST(LabDivisionTerm, BothFormsAreOne) {
    const lab::Result result = run("division-term");
    const double last[] = {0.01, 1 / 464.1588834, 0.001, std::pow(10000.0, -62 / 64.0), 1.0366e-4};
    for (std::size_t row = 0; row < 5; ++row) {
        EXPECT_NEAR(cell(result, "forms", row, "the last"), last[row], 1e-4 * last[row]);
        EXPECT_EQ(cell(result, "forms", row, "k = 0"), 1);
        EXPECT_LT(cell(result, "forms", row, "largest relative difference"), 1e-14);
    }
    EXPECT_EQ(run("division-term", {"--dim", "10"}).tables[0].figures.rows.size(), 5u);
    EXPECT_NEAR(cell(run("division-term", {"--dim", "10"}), "forms", 4, "the last"), std::pow(10000.0, -0.8), 1e-12);
}

// The values of an image with the same arrows, to two digits.
TEST(LabCircle, TipsLieOnTheCircle) {
    const lab::Result result = run("circle");
    const double tips[8][2] = {{1.84, 1.54}, {1.91, .58}, {1.14, .01},  {.24, .35},
                               {.04, 1.28},  {.72, 1.96}, {1.66, 1.75}, {1.99, .85}};
    for (std::size_t i = 0; i < 8; ++i) {
        EXPECT_NEAR(cell(result, "tips", i, "x"), tips[i][0], 0.0051);
        EXPECT_NEAR(cell(result, "tips", i, "y"), tips[i][1], 0.0051);
        EXPECT_LT(std::abs(cell(result, "tips", i, "distance from (1, 1), less 1")), 1e-15);
        if (i > 0) {
            EXPECT_NEAR(cell(result, "tips", i, "turned by, radians"), -1, 1e-14);
        }
    }
}

TEST(LabClusters, DistancesExplainThem) {
    const lab::Result result = run("clusters");
    const auto& eight = picture<Curves>(result, "distance").series.at(0).y; // / sqrt(8)
    EXPECT_NEAR(eight.at(1) * std::sqrt(8), .9641, 5e-5);
    EXPECT_NEAR(eight.at(6) * std::sqrt(8), .6577, 5e-5);
    EXPECT_NEAR(eight.at(63) * std::sqrt(8), .6453, 5e-5);
    EXPECT_EQ(cell(result, "nearest", 0, "nearest"), 63);
    EXPECT_EQ(cell(result, "nearest", 0, "second"), 6);
    EXPECT_EQ(std::get<std::string>(result.tables[0].figures.rows[0].back()), "63 (128 rows)");
    for (const std::size_t wide : {1u, 2u}) EXPECT_EQ(cell(result, "nearest", wide, "nearest"), 1);
    for (const std::size_t row : {0u, 1u, 2u})
        EXPECT_LT(cell(result, "nearest", row, "spread within an offset"), 1e-12);
}

// |PE(p) - PE(p + k)|^2 = sum over pairs of 2 - 2 cos(k w), worked out independently of the engine.
double offset_distance(int offset, int d) {
    double sum = 0;
    for (int pair = 0; pair < d / 2; ++pair) sum += 2 - 2 * std::cos(offset * std::pow(10000.0, -2.0 * pair / d));
    return std::sqrt(sum);
}

TEST(LabClusters, PicturesSayWhatIsInThem) {
    const lab::Result result = run("clusters");
    std::string counts;
    for (const int d : {8, 64, 512}) {
        int nearer = 0;
        for (int offset = 2; offset < 128; ++offset) nearer += offset_distance(offset, d) < offset_distance(1, d);
        counts += (counts.empty() ? "" : ", ") + std::to_string(nearer) + " with " + std::to_string(d) +
                  (d == 8 ? " dimensions" : "");
    }
    const auto find = [&](const char* name) {
        return *std::find_if(result.pictures.begin(), result.pictures.end(),
                             [&](const lab::Picture& picture) { return picture.name == name; });
    };
    EXPECT_TRUE(has(find("distance").title, counts)) << find("distance").title << counts;
    const auto& marks = picture<Curves>(result, "distance").series.back();
    EXPECT_EQ(marks.x, (std::vector<double>{6, 63}));
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_NEAR(marks.y[i], offset_distance(static_cast<int>(marks.x[i]), 8) / std::sqrt(8), 1e-9);

    // The map's nearest offsets, read from its points. Each point has its position and the colour of its class.
    const auto& map = picture<Curves>(result, "t-sne");
    std::map<int, std::pair<double, double>> points;
    for (std::size_t s = 0; s < map.series.size(); ++s)
        for (std::size_t i = 0; i < map.series[s].x.size(); ++i) {
            const int position = std::stoi(map.series[s].names.at(i));
            EXPECT_EQ(position % 3, static_cast<int>(s));
            points[position] = {map.series[s].x[i], map.series[s].y[i]};
        }
    ASSERT_EQ(points.size(), 128u);
    int at_63 = 0;
    for (const auto& [p, here] : points) {
        int best = -1;
        double least = HUGE_VAL;
        for (const auto& [q, there] : points) {
            const double apart = std::hypot(here.first - there.first, here.second - there.second);
            if (p != q && apart < least) least = apart, best = q;
        }
        at_63 += std::abs(best - p) == 63;
    }
    EXPECT_TRUE(has(find("t-sne").title, "63 (" + std::to_string(at_63) + " rows)"));
}

TEST(LabTsne, ProbabilitiesHaveThePerplexity) {
    const std::vector<double> distances{0, 0.1, 0.5, 0.7, 2, 3, 5, 9, 11, 30};
    const auto p = lab::neighbour_probabilities(distances, 0, 4);
    double entropy = 0, sum = 0;
    for (std::size_t j = 1; j < p.size(); ++j) {
        sum += p[j];
        entropy -= p[j] > 0 ? p[j] * std::log(p[j]) : 0;
        if (j > 1) {
            EXPECT_LE(p[j], p[j - 1]);
        }
    }
    EXPECT_EQ(p[0], 0);
    EXPECT_NEAR(sum, 1, 1e-12);
    EXPECT_NEAR(entropy, std::log(4), 1e-8);
}

TEST(LabTsne, KeepsTwoCloudsApart) {
    std::vector<std::vector<double>> points;
    for (int i = 0; i < 24; ++i) points.push_back({i % 2 * 100.0 + std::cos(i), std::sin(1.7 * i), std::cos(2.3 * i)});
    const auto map = lab::tsne(points, 4, 7, 400);
    EXPECT_EQ(map, lab::tsne(points, 4, 7, 400));
    EXPECT_NE(map, lab::tsne(points, 4, 8, 400));
    const auto distance = [&](std::size_t a, std::size_t b) {
        return std::hypot(map[a][0] - map[b][0], map[a][1] - map[b][1]);
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
        double same = HUGE_VAL, other = HUGE_VAL;
        for (std::size_t j = 0; j < points.size(); ++j)
            if (j != i) ((i + j) % 2 == 0 ? same : other) = std::min((i + j) % 2 == 0 ? same : other, distance(i, j));
        EXPECT_LT(same, other);
    }
}

TEST(LabSlopes, AreThePublishedOnes) {
    const lab::Result result = run("slopes");
    for (int h = 0; h < 8; ++h)
        EXPECT_NEAR(cell(result, "slopes", 7, "m" + std::to_string(h)), std::exp2(-(h + 1)), 1e-15);
    const double twelve[] = {.7071, .3536, .1768, .0884};
    for (int h = 8; h < 12; ++h) EXPECT_NEAR(cell(result, "slopes", 11, "m" + std::to_string(h)), twelve[h - 8], 5e-5);
    EXPECT_EQ(cell(result, "worked", 2, "key 0"), -1); // head 0 of 8: half of the distance 2
    EXPECT_EQ(std::get<std::string>(result.tables[1].figures.rows[0][2]), "masked");
    // For 16 heads at distance 3: e^(-3 2^-8) and e^(-3 2^-0.5).
    EXPECT_TRUE(has(result.found.at(0), "keeps 0.988"));
    EXPECT_TRUE(has(result.found.at(0), "0.120 in the steepest"));
    EXPECT_TRUE(has(result.found.at(0), "square of the distance the steepest keeps 0.002")); // e^-6.4
    // For 8 heads at distance 10: e^(-10/2) and e^(-10/256).
    EXPECT_TRUE(has(result.answer, "by 0.007 and the flattest by 0.962"));
}

TEST(LabSlopes, TheMatrixIsBlankWhereTheMaskIs) {
    const lab::Result result = run("slopes", {"--heads", "3", "--length", "5"});
    const auto& last = picture<HeatMap>(result, "head-2").values; // the third of 3 heads has 2^-2
    for (std::size_t i = 0; i < 5; ++i)
        for (std::size_t j = 0; j < 5; ++j)
            if (j > i)
                EXPECT_TRUE(std::isnan(last[i][j]));
            else
                EXPECT_EQ(last[i][j], -0.25 * static_cast<double>(i - j));
    const auto& weight = picture<Curves>(result, "weight").series.at(2);
    EXPECT_NEAR(weight.y.at(3), std::exp(-0.75), 1e-12);
    EXPECT_EQ(run("slopes", {"--heads", "1"}).pictures.size(), 4u);
    // Head 1 of 3 has 2^-8. The square of 4 leaves e^-(1/16), and its root e^-(1/128).
    const auto& shapes = picture<Curves>(result, "shapes").series;
    EXPECT_NEAR(shapes.at(0).y.at(4), std::exp(-1 / 128.0), 1e-12);
    EXPECT_EQ(shapes.at(1).y, picture<Curves>(result, "weight").series.at(1).y);
    EXPECT_NEAR(shapes.at(2).y.at(4), std::exp(-1 / 16.0), 1e-12);
    EXPECT_NEAR(shapes.at(3).y.at(4), std::exp(-(std::exp(2.0) - 1) / 256), 1e-12);
    EXPECT_NEAR(shapes.at(4).y.at(4), std::exp(-(1 - std::exp(-2.0)) / 256), 1e-12);
}

// The additional slope of 9 heads, 2^-0.5, is the steepest.
TEST(LabSlopes, TheSteepestAndTheGentlestAreShown) {
    const lab::Result result = run("slopes", {"--heads", "9", "--length", "3"});
    EXPECT_NEAR(picture<HeatMap>(result, "head-8").values.at(1).at(0), -std::sqrt(0.5), 1e-7);
    EXPECT_NEAR(picture<HeatMap>(result, "head-7").values.at(1).at(0), -1 / 256.0, 1e-9);
    // The colours of each head span its own values, so that a flat head is not one colour.
    for (const auto& [name, slope] : {std::pair{"head-8", std::sqrt(0.5)}, {"head-7", 1 / 256.0}}) {
        const lab::Range range = lab::value_range(picture<HeatMap>(result, name));
        EXPECT_NEAR(range.low, -2 * slope, 1e-6) << name;
        EXPECT_EQ(range.high, 0) << name;
    }
}

TEST(LabAngles, ArePositionsTimesThePowersOfTheBase) {
    const lab::Result result = run("angles");
    EXPECT_NEAR(picture<HeatMap>(result, "cosines").values.at(9).at(32), std::cos(9 * 0.01), 1e-12);
    EXPECT_NEAR(cell(result, "frequencies", 2, "positions_per_turn"), 2 * M_PI * 10, 1e-9); // pair 16 of 64
    EXPECT_EQ(number(result.tables[0].figures.rows.back()[0]), 63);                         // the slowest
    // 10000^(-k/64) < 2 pi / 1000 from k = 64 log(1000 / 2 pi) / log(10000) = 35.2 on
    EXPECT_TRUE(has(result.answer, "28 of the 64 pairs"));
}

TEST(LabTables, ShowEveryRegisteredEncoding) {
    setenv("ORDO_WEIGHTS", model_directory().c_str(), 1);
    const lab::Result result = run("tables", {"--length", "6", "--dim", "8", "--heads", "2"});
    unsetenv("ORDO_WEIGHTS");
    std::string shown;
    for (const lab::Picture& picture : result.pictures) shown += picture.name + "\n";
    for (const std::string& note : result.notes) shown += note + "\n";
    for (const EncodingInfo* info : registered_encodings())
        if (example_of(*info)->moments() != 0) {
            EXPECT_TRUE(has(shown, info->name)) << info->name;
        }
    EXPECT_EQ(picture<HeatMap>(result, "alibi-head-0").values.at(5).at(1), -4 * 0.0625); // with 2 heads
    EXPECT_NEAR(picture<HeatMap>(result, "rope-angle").values.at(5).at(1), 0.5, 1e-12);  // 5 / 10000^(2/8)
    EXPECT_NEAR(picture<Curves>(result, "rotate-stretch-angle").series.at(0).y.at(3), 2 * M_PI * 3 / 36, 1e-12);
}

// One map instead of a picture for each dimension.
TEST(LabTables, RowsThatSayTheirDistanceAreOneMap) {
    setenv("ORDO_WEIGHTS", model_directory().c_str(), 1);
    const lab::Result result =
        run("tables", {"--encodings", "shaw:clip=3", "--length", "6", "--dim", "8", "--heads", "1"});
    unsetenv("ORDO_WEIGHTS");
    ASSERT_EQ(result.pictures.size(), 1u);
    EXPECT_EQ(result.pictures[0].y_label, "distance");
    const auto& map = std::get<HeatMap>(result.pictures[0].content);
    EXPECT_EQ(map.first_y, -3);
    EXPECT_EQ(map.values.size(), 7u);
    EXPECT_EQ(map.values[0].size(), 8u);
}

// Shaw's rows are the same for every head, an untrained sink has no picture, and ALiBi's heads all differ.
TEST(LabTables, WhatHeadsShareIsShownOnceAndTitlesSayWhatIsSeen) {
    setenv("ORDO_WEIGHTS", model_directory().c_str(), 1);
    const lab::Result result =
        run("tables", {"--encodings", "shaw:clip=3;sink;alibi", "--length", "6", "--dim", "8", "--heads", "2"});
    unsetenv("ORDO_WEIGHTS");
    std::string names;
    for (const lab::Picture& picture : result.pictures) names += picture.name + " ";
    EXPECT_EQ(names, "shaw alibi-head-0 alibi-head-1 ");    // the untrained sink is 0 in every head
    const std::string& title = result.pictures.at(1).title; // 2 heads: 2^-4 over 5 positions
    EXPECT_TRUE(has(title, "falls with the distance, from 0 to -0.312"));
}

// Without trained weights for its table, an encoding shows its initial values and says so.
TEST(LabTables, AnUntrainedTableIsShownAsSuch) {
    setenv("ORDO_WEIGHTS", model_directory().c_str(), 1);
    const lab::Result result = run("tables", {"--encodings", "segment:count=3", "--length", "6", "--dim", "8"});
    unsetenv("ORDO_WEIGHTS");
    ASSERT_EQ(result.pictures.size(), 1u);
    EXPECT_TRUE(has(result.pictures[0].title, "untrained"));
    EXPECT_EQ(result.pictures[0].y_label, "segment");
    const auto& values = std::get<HeatMap>(result.pictures[0].content).values;
    ASSERT_EQ(values.size(), 3u);
    ASSERT_EQ(values[0].size(), 8u);
    EXPECT_NE(values[0], values[1]);
}

// The extent of each kind of number, without the column of positions.
TEST(LabTables, ExtentIsOfWhatATableHolds) {
    const lab::Result result = run("tables", {"--encodings", "none;rope;rotate-stretch", "--length", "37"});
    const tools::Figures& summary = table(result, "tables");
    EXPECT_EQ(cell(summary, {{"table", "rope-cos"}}, "most"), 1);
    EXPECT_GE(cell(summary, {{"table", "rope-cos"}}, "least"), -1);
    EXPECT_EQ(cell(summary, {{"table", "rope-angle"}}, "most"), 36); // pair 0 at position 36
    EXPECT_NEAR(cell(summary, {{"table", "rotate-stretch-scale"}}, "most"), 0.2, 1e-12);
    EXPECT_EQ(result.found.at(0), "5 tables of 2 encodings; no table to show for none.");
    EXPECT_EQ(
        result.answer,
        "On the word vectors act: rotate-stretch; queries and keys are rotated by: rope; nothing is added by: `none`.");
}

TEST(LabTables, SpecsOfOneNameHaveFilesOfTheirOwn) {
    const lab::Result result =
        run("tables", {"--encodings", "rotate-stretch:period=6;rotate-stretch:period=36", "--length", "8"});
    EXPECT_EQ(result.pictures.size(), 4u);
    EXPECT_NEAR(picture<Curves>(result, "rotate-stretch-scale").series.at(0).y.at(7), 0.2, 1e-12);
    EXPECT_NEAR(picture<Curves>(result, "rotate-stretch-2-scale").series.at(0).y.at(7), 0.1, 1e-12);
    EXPECT_THROW(run("tables", {"--encodings", "nothing"}), Error);
}

} // namespace
