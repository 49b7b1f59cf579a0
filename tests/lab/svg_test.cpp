// SPDX-License-Identifier: MIT
// Any picture as SVG.
#include "tests/lab/has.h"
#include "tests/lab/nasty.h"
#include "tools/lab/drawing/draw.h"
#include "tools/lab/drawing/svg.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::lab::test;
using lab::Curves;
using lab::HeatMap;
using lab::Picture;
using lab::Series;

TEST(LabSvg, FileNamesAreSafe) {
    EXPECT_EQ(lab::file_stem(nasty, "a b/../c;d"), "nasty-a-b-..-c-d");
}

TEST(LabSvg, TextStaysText) {
    const Picture picture{"p", "<title>", "x'y", "z<",
                          Curves{.series = {{.label = "</svg>", .x = {1}, .y = {2}}, {.label = "b"}}}};
    const std::string svg = lab::svg_of(picture);
    for (const char* text : {">x&#39;y<", ">z&lt;<", ">&lt;/svg&gt;<"}) EXPECT_TRUE(has(svg, text));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_FALSE(has(svg, "<title><title>")); // a page has the picture's title as text
}

// Each grey that is dark on white or light on white has a rule for a dark theme.
TEST(LabSvg, GreysHaveADarkTheme) {
    const std::string svg =
        lab::svg_of({"p", "p", "x", "y", Curves{.series = {{.label = "a", .x = {1, 2}, .y = {1, 2}}}}});
    std::size_t greys = 0;
    for (const char* part : {"fill", "stroke"})
        for (std::size_t at = 0; (at = svg.find(std::string(" ") + part + "=\"#", at)) != svg.npos; ++at) {
            const std::string color = svg.substr(svg.find('#', at), 7);
            if (color.substr(1, 2) != color.substr(3, 2) || color.substr(1, 2) != color.substr(5, 2)) continue;
            ++greys;
            EXPECT_TRUE(has(svg, std::string("[") + part + "=\"" + color + "\"]")) << color;
        }
    EXPECT_GT(greys, 5u);
}

// A band around a line, a stroke for each separate point.
TEST(LabSvg, IntervalsOfPointsAreStrokes) {
    Series series{.label = "s", .x = {1, 2}, .y = {1, 2}, .low = {0, 1}, .high = {2, 3}};
    const auto has_band = [&](Series::Style style) {
        series.style = style;
        return has(lab::svg_of({"i", "i", "x", "y", Curves{.series = {series}, .interval = "95 %"}}), "fill-opacity");
    };
    EXPECT_FALSE(has_band(Series::Style::points));
    EXPECT_TRUE(has_band(Series::Style::line_points));
}

TEST(LabSvg, SmallMapsHaveTheirNumbersAndSayWhyCellsAreBlank) {
    HeatMap map{.values = {{1.5, NAN}, {3, 4}}, .blank = "refused", .diverging = false};
    const auto svg = [&] { return lab::svg_of({"m", "m", "x", "y", map}); };
    EXPECT_TRUE(has(svg(), ">1.5</text>"));
    EXPECT_TRUE(has(svg(), ">blank: refused</text>"));
    EXPECT_FALSE(has(svg(), "nan"));
    EXPECT_TRUE(has(lab::draw({"m", "m", "x", "y", map}, {}), "blank: refused"));
    map.values[0][1] = 2;
    EXPECT_FALSE(has(svg(), "refused"));
    map.values.assign(20, std::vector<double>(20, 1)); // as many as there are encodings
    map.values[0][0] = 0.123, map.values[0][1] = -0.04;
    EXPECT_TRUE(has(svg(), ">0.1</text>")); // for numbers up to 1
    EXPECT_TRUE(has(svg(), ">0.0</text>")); // not -0.0
    for (auto& row : map.values) row.assign(20, 0.5);
    map.values[0][0] = 0.1;
    EXPECT_TRUE(has(svg(), ">0.50</text>"));
    map.values.assign(30, std::vector<double>(30, 0.125));
    EXPECT_FALSE(has(svg(), ">0.12"));
}

// As many names as the lab has encodings, at both sides of a map: no name is drawn over another, and none is cut.
TEST(LabSvg, ManyNamesStandClearOfEachOther) {
    HeatMap map{.values = std::vector<std::vector<double>>(40, std::vector<double>(40, 1))};
    for (int i = 0; i < 40; ++i)
        map.x_names.push_back("name" + std::to_string(i) + std::string(i % 5 == 4 ? 40 : i % 5, 'n'));
    map.y_names = map.x_names;
    std::istringstream lines(lab::svg_of({"m", "m", "x", "y", map}));
    std::vector<double> across, down;
    for (std::string line; std::getline(lines, line);) {
        double x = 0, y = 0, size = 0;
        if (!has(line, ">name")) continue;
        ASSERT_EQ(std::sscanf(line.c_str(), "<text transform=\"translate(%lf %lf)", &x, &y), 2) << line;
        ASSERT_EQ(std::sscanf(line.c_str() + line.find("font-size"), "font-size=\"%lf\"", &size), 1) << line;
        std::vector<double>& places = has(line, "rotate") ? across : down;
        const double place = has(line, "rotate") ? x : y;
        if (!places.empty()) {
            EXPECT_GE(place - places.back(), 0.95 * size) << line;
        }
        places.push_back(place);
        const double letters =
            static_cast<double>(lab::columns_of(line.substr(line.find('>') + 1))) - 7; // less </text>
        EXPECT_GE(has(line, "rotate") ? 1000 : x, 0.5 * size * letters) << line;
    }
    EXPECT_EQ(across.size(), 40u);
    EXPECT_EQ(down.size(), 40u);
}

// The label of an axis that is longer than the plot begins inside the picture.
TEST(LabSvg, ALongLabelIsNotCut) {
    const std::string label(44, 'l');
    const std::string svg =
        lab::svg_of({"p", "p", "x", label,
                     Curves{.series = {{.label = "s", .x = {0, 1}, .y = {1, 2}, .style = Series::Style::points}},
                            .x_names = {std::string(24, 'n'), std::string(24, 'n')}}});
    const std::size_t at = svg.rfind("<text", svg.find(">" + label + "<"));
    double x = 0, y = 0;
    ASSERT_EQ(std::sscanf(svg.c_str() + at, "<text transform=\"translate(%lf %lf)", &x, &y), 2);
    EXPECT_GE(y, 44 * 0.5 * 15 / 2);
}

// 6 x 3 cells on the plot, each row a stroke for each run of one colour.
TEST(LabSvg, CellsOfOneColourAreOneStroke) {
    const std::string svg = lab::svg_of(
        {"m", "m", "x", "y",
         HeatMap{.values = {{0, 0, 0, 1, 1, 0}, {1, 1, 1, 1, 1, 1}, {NAN, NAN, 0, 0, 0, 0}}, .diverging = false}});
    EXPECT_TRUE(has(svg, "<path d=\"M0 0h3M5 0h1M2 2h4\" stroke=\"#440154\"")); // the first of viridis
    EXPECT_TRUE(has(svg, "<path d=\"M3 0h2M0 1h6\" stroke=\"#fde725\""));       // the last
}

TEST(LabSvg, AnyPictureCanBeDrawn) {
    for (const Picture& picture : awkward_pictures()) {
        SCOPED_TRACE(picture.name);
        const std::string svg = lab::svg_of(picture);
        EXPECT_TRUE(svg.ends_with("</svg>\n"));
        for (const char* number : {"nan", "inf"}) EXPECT_FALSE(has(svg, number)) << svg;
        EXPECT_EQ(std::count(svg.begin(), svg.end(), '<'), std::count(svg.begin(), svg.end(), '>'));
    }
}

} // namespace
