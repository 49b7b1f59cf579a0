// SPDX-License-Identifier: MIT
// Pictures in characters: maps, curves, axes; and the looks of series.
#include "encoding/base/registry.h"
#include "tests/lab/has.h"
#include "tools/lab/drawing/draw.h"
#include "tools/lab/drawing/svg.h"

#include <cmath>
#include <set>
#include <sstream>
#include <tuple>

namespace {

using namespace ordo;
using lab::Curves;
using lab::HeatMap;
using lab::Picture;
using lab::Series;

TEST(LabDraw, SmallMapsAreNumbersAndLargeOnesShades) {
    const Picture small{"s", "small", "column", "row", HeatMap{.values = {{-1, 0.5}, {NAN, 2}}, .first_y = 3}};
    EXPECT_EQ(lab::draw(small, {}), "small\n\nrow       0      1  column\n  3  -1.000  0.500\n  4          2.000\n");
    std::vector<std::vector<double>> ramp(2);
    for (int c = 0; c < 40; ++c) ramp[0].push_back(c), ramp[1].push_back(NAN);
    const std::string text = lab::draw({"r", "ramp", "x", "y", HeatMap{.values = ramp, .diverging = false}}, {});
    EXPECT_TRUE(has(text, "········░░░░░░░░▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓████████\n"));
    EXPECT_TRUE(has(text, "0 · 7.8 ░ 15.6 ▒ 23.4 ▓ 31.2 █ 39"));
}

// Even columns are 0 and odd ones 1, as late dimensions of the sinusoidal table are. A mean would make them equal.
TEST(LabDraw, LargeMapsKeepEvenAndOddColumnsApart) {
    std::vector<std::vector<double>> values(200, std::vector<double>(512));
    for (auto& row : values)
        for (std::size_t c = 1; c < row.size(); c += 2) row[c] = 1;
    const Picture picture{"m", "m", "column", "row", HeatMap{.values = values, .diverging = false}};
    const std::string text = lab::draw(picture, {.width = 80});
    EXPECT_TRUE(has(text, "  0 ·█·█·█·█·█"));
    EXPECT_FALSE(has(text, "▒·"));
    EXPECT_TRUE(has(text, "shown are rows 0, 2, 4, ...; columns 0, 7, 14, ..."));
    EXPECT_TRUE(has(text, "511\n")); // 73 x 7: the last column shown
}

// Letters mark the series and strokes mark intervals. A line of text names the strokes.
TEST(LabDraw, IntervalsAreStrokesAndNamed) {
    const Series low{
        .label = "low", .x = {1, 2}, .y = {1, 1}, .low = {0, 0}, .high = {2, 2}, .style = Series::Style::points},
        high{.label = "high", .x = {1, 2}, .y = {3, 3}};
    const std::string text = lab::draw(
        {"i", "i", "x", "y", Curves{.series = {low, high}, .interval = "mean ± one deviation"}}, {.width = 60});
    const auto count = [&](std::string_view what) {
        int n = 0;
        for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
        return n;
    };
    EXPECT_LE(count("a"), 10) << text; // two thick points, and the legend with its words
    EXPECT_GE(count("│"), 20 + 2 * 8) << text;
    EXPECT_TRUE(has(text, "│ mean ± one deviation"));
}

// If the axis spans less than a power of ten, each of a few measured values has a label.
TEST(LabDraw, MeasuredValuesAreOnALogarithmicAxis) {
    const Series one{.label = "s", .x = {0.5, 1, 2}, .y = {20, 30, 50}};
    const Picture picture{"l", "l", "x", "y", Curves{.series = {one}, .log_x = true, .log_y = true}};
    const std::string text = lab::draw(picture, {.width = 80});
    const std::size_t axis = text.find("└┬");
    ASSERT_NE(axis, std::string::npos) << text;
    std::istringstream numbers(text.substr(text.find('\n', axis)));
    std::string a, b, c;
    numbers >> a >> b >> c;
    EXPECT_EQ(a + " " + b + " " + c, "0.5 1 2") << text;
    EXPECT_TRUE(has(text, " 20 ┤"));
    EXPECT_TRUE(has(text, " 50 ┤"));
    for (const char* tick : {">0.5<", ">1<", ">2<", ">20<", ">50<"}) EXPECT_TRUE(has(lab::svg_of(picture), tick));
}

// A character shows two values in their own colours. Blank values have no colour.
TEST(LabDraw, ColouredMapsUseHalfBlocks) {
    std::vector<std::vector<double>> values(40, std::vector<double>(30, 1));
    values[1] = std::vector<double>(30, -1);
    values[39] = std::vector<double>(30, NAN);
    const std::string text = lab::draw({"c", "c", "x", "y", HeatMap{.values = values}}, {.width = 80, .color = true});
    EXPECT_TRUE(has(text, "\033[38;5;130m\033[48;5;54m▀"));
    EXPECT_TRUE(has(text, "\033[38;5;130m▀")); // the last line has an upper half only
    const std::string deep =
        lab::draw({"c", "c", "x", "y", HeatMap{.values = values}}, {.width = 80, .color = true, .true_color = true});
    EXPECT_TRUE(has(deep, "\033[38;2;127;59;8m"));
}

TEST(LabDraw, CurvesRunWhereTheyShould) {
    Series rising{.label = "up", .x = {}, .y = {}}, falling{.label = "down", .x = {}, .y = {}};
    for (int i = 0; i <= 100; ++i) {
        rising.x.push_back(i), rising.y.push_back(i);
        falling.x.push_back(i), falling.y.push_back(100 - i);
    }
    std::istringstream text(lab::draw({"c", "c", "x", "y", Curves{.series = {rising, falling}}}, {}));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    ASSERT_GT(lines.size(), 23u);
    // The canvas's first line: the falling series starts here, the rising one ends.
    EXPECT_TRUE(has(lines[3], "100 ┤b"));
    EXPECT_EQ(lines[3].back(), 'a');
    EXPECT_TRUE(has(lines[22], "0 ┤a"));
    EXPECT_EQ(lines[22].back(), 'b');
    EXPECT_TRUE(has(lines.back(), "a up   b down"));
}

// Names replace the numbers 0, 1, ... on the axis. A step keeps its value until the next one.
TEST(LabDraw, NamesStandOnTheAxisAndStepsAreLevel) {
    const Series steps{.label = "s", .x = {0, 1, 2}, .y = {0, 0, 10}, .style = Series::Style::steps};
    const Picture picture{"n", "n", "x", "y", Curves{.series = {steps}, .x_names = {"copy", "sort", "add"}}};
    const std::string text = lab::draw(picture, {});
    std::istringstream names(text.substr(text.find("└")));
    std::string line, a, b, c;
    std::getline(names, line);
    names >> a >> b >> c;
    EXPECT_EQ(a + " " + b + " " + c, "copy sort add") << text;
    // Every line above the lowest holds only the rising stroke at x = 2.
    std::istringstream lines(text.substr(text.find("10 ┤")));
    for (std::string row; std::getline(lines, row) && row.find(" 0 ┤") == std::string::npos;)
        EXPECT_EQ(lab::columns_of(row), row.starts_with("10") ? 73 : 79) << text;
    for (const char* name : {">copy<", ">sort<", ">add<"}) EXPECT_TRUE(has(lab::svg_of(picture), name));
}

TEST(LabDraw, TicksAreRoundNumbers) {
    const auto texts = [](lab::Range range, bool log) {
        std::string all;
        for (const lab::Tick& tick : lab::ticks_of(range, log, 5)) all += tick.text + " ";
        return all;
    };
    EXPECT_EQ(texts({0, 1}, false), "0 0.2 0.4 0.6 0.8 1 ");
    EXPECT_EQ(texts({-1, 1}, false), "-1 -0.5 0 0.5 1 ");
    EXPECT_EQ(texts({3, 97}, false), "20 40 60 80 ");
    EXPECT_EQ(texts({0, 4}, true), "1 10 100 1000 10000 ");
    EXPECT_EQ(texts({0.1, 0.4}, true), "1.5 2 2.5 ");         // 1.26 to 2.51: no power of ten in between
    EXPECT_EQ(texts({1.2, 2.9}, true), "20 50 100 200 500 "); // 16 to 794: one power of ten
}

// A legend of twenty names would leave only a strip for the plot.
TEST(LabSvg, PointsAboveTheirNamesNeedNoKey) {
    const auto point = [](const char* label, double x) {
        return Series{.label = label, .x = {x}, .y = {1}, .style = Series::Style::points};
    };
    const Curves curves{.series = {point("rope", 0), point("alibi", 1), point("published", 1)},
                        .references = {{"chance", 0.5}},
                        .x_names = {"rope", "alibi"}};
    const std::string svg = lab::svg_of({"n", "n", "x", "y", curves});
    for (const char* name : {">rope<", ">alibi<", ">published<", ">chance<"})
        EXPECT_TRUE(has(svg, name) && svg.find(name) == svg.rfind(name)) << name;
}

lab::Look look_of(const std::string& label, std::vector<std::string> others) {
    Curves curves;
    others.push_back(label);
    for (const std::string& other : others) curves.add(other);
    return lab::looks_of(curves).back();
}

bool same(const lab::Look& a, const lab::Look& b) {
    return a.mark == b.mark && a.dash == b.dash && a.color.red == b.color.red && a.color.green == b.color.green &&
           a.color.blue == b.color.blue;
}

TEST(LabLooks, AVariantHasOneLookInEveryPicture) {
    const lab::Look alone = look_of("rope-none", {});
    EXPECT_TRUE(same(alone, look_of("rope-none", {"rope"})));
    EXPECT_TRUE(same(alone, look_of("rope-none", {"none", "rope:width=4", "rope"})));
    EXPECT_TRUE(same(alone, look_of("pattern(rope,none)", {"alibi"}))); // the same model under another name
    EXPECT_TRUE(same(look_of("rotate-stretch-6", {}), look_of("rotate-stretch:period=6", {"rotate-stretch-36"})));
}

std::size_t looks_among(const std::vector<std::string>& labels) {
    Curves curves;
    for (const std::string& label : labels) curves.add(label);
    std::set<std::tuple<int, int, int, int, int>> looks;
    for (const lab::Look& look : lab::looks_of(curves))
        looks.insert({look.mark, look.dash, look.color.red, look.color.green, look.color.blue});
    return looks.size();
}

// The other series of a picture do not matter.
TEST(LabLooks, AnEncodingLooksTheSameInEveryPicture) {
    const std::vector<std::string> others{"none", "alibi:max=4", "published"};
    EXPECT_TRUE(same(look_of("rope", {"alibi"}), look_of("rope-1", others)));
    EXPECT_TRUE(same(look_of("alibi", {"rope"}), look_of("alibi:max=4", {"none"})));
    EXPECT_TRUE(same(look_of("rope", {}), look_of("rope", {"rope-none"}))); // a pattern of rope comes first
}

TEST(LabLooks, SeriesAreToldApart) {
    EXPECT_EQ(looks_among({"rope", "rope-none", "rope:width=4", "rope:theta=500", "rope-1", "rotate-stretch-36",
                           "rotate-stretch-6"}),
              7u);
    EXPECT_EQ(looks_among({"none", "alibi:max=4", "published", "rope-1", "ropes", "rope:theta=500"}), 6u);
    std::vector<std::string> all;
    for (const EncodingInfo* info : registered_encodings()) all.emplace_back(info->name);
    EXPECT_EQ(looks_among(all), all.size());
}

} // namespace
