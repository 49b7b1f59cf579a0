// SPDX-License-Identifier: MIT
// Pictures of the tables of encodings, and t-SNE.
#include "encoding/base/model_encodings.h"
#include "encoding/base/registry.h"
#include "tests/lab/lab_run.h"
#include "tests/tools/models.h"
#include "tools/lab/math/tsne.h"

namespace {

using namespace ordo;
using namespace ordo::test;
using namespace ordo::lab::test;
using lab::Curves;
using lab::HeatMap;

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

// With the weights of the tests.
lab::Result tables(const std::vector<const char*>& words) {
    setenv("ORDO_WEIGHTS", model_directory().c_str(), 1);
    lab::Result result = run("tables", words);
    unsetenv("ORDO_WEIGHTS");
    return result;
}

TEST(LabTables, ShowEveryRegisteredEncoding) {
    const lab::Result result = tables({"--length", "6", "--dim", "8", "--heads", "2"});
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
    const lab::Result result = tables({"--encodings", "shaw:clip=3", "--length", "6", "--dim", "8", "--heads", "1"});
    ASSERT_EQ(result.pictures.size(), 1u);
    EXPECT_EQ(result.pictures[0].y_label, "distance");
    const auto& map = std::get<HeatMap>(result.pictures[0].content);
    EXPECT_EQ(map.first_y, -3);
    EXPECT_EQ(map.values.size(), 7u);
    EXPECT_EQ(map.values[0].size(), 8u);
}

// Shaw's rows are the same for every head, an untrained sink has no picture, and ALiBi's heads all differ.
TEST(LabTables, WhatHeadsShareIsShownOnceAndTitlesSayWhatIsSeen) {
    const lab::Result result =
        tables({"--encodings", "shaw:clip=3;sink;alibi", "--length", "6", "--dim", "8", "--heads", "2"});
    std::string names;
    for (const lab::Picture& picture : result.pictures) names += picture.name + " ";
    EXPECT_EQ(names, "shaw alibi-head-0 alibi-head-1 ");    // the untrained sink is 0 in every head
    const std::string& title = result.pictures.at(1).title; // 2 heads: 2^-4 over 5 positions
    EXPECT_TRUE(has(title, "a row for each query, from -0.312 to 0"));
}

// Without trained weights for its table, an encoding shows its initial values and says so.
TEST(LabTables, AnUntrainedTableIsShownAsSuch) {
    const lab::Result result = tables({"--encodings", "segment:count=3", "--length", "6", "--dim", "8"});
    ASSERT_EQ(result.pictures.size(), 1u);
    EXPECT_TRUE(has(result.pictures[0].title, "untrained"));
    EXPECT_EQ(result.pictures[0].y_label, "segment");
    const auto& values = std::get<HeatMap>(result.pictures[0].content).values;
    ASSERT_EQ(values.size(), 3u);
    ASSERT_EQ(values[0].size(), 8u);
    EXPECT_NE(values[0], values[1]);
}

TEST(LabTables, RefuseNamesThatThereAreNot) {
    EXPECT_THROW(run("tables", {"--encodings", "nothing"}), Error);
}

} // namespace
