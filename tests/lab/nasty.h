// SPDX-License-Identifier: MIT
// An experiment and a result whose texts have markup of every kind, and odd pictures.
#pragma once

#include "tools/lab/lab.h"

#include <cmath>

namespace ordo::lab::test {

inline const Experiment nasty{.name = "nasty", .summary = "a < b & c", .details = "\"quoted\"", .run = nullptr};

inline Result small_result() {
    Result result;
    result.answer = "It depends on < & >.";
    result.expected = {"x < y"};
    result.found = {"a | b, [c] & 1/3"};
    result.tables = {
        {"one", "first", {{"name", "value"}, {{std::string("a,\"b\""), 1.0 / 3}, {std::string("<i>"), std::nan("")}}}},
        {"two", "second", {{"n"}, {{std::int64_t{7}}}}}};
    result.pictures = {{"p", "a 'picture'", "x", "y",
                        Curves{.series = {{.label = "s", .x = {1}, .y = {2}}}, .references = {{"r", 3}}}}};
    return result;
}

// Pictures of odd sizes, names and numbers.
inline std::vector<Picture> awkward_pictures() {
    std::vector<std::vector<double>> tall(300, std::vector<double>(3, 1)), wide(2, std::vector<double>(1000, -1));
    tall[7][1] = NAN, wide[1][0] = -INFINITY;
    const std::vector<double> x{1, 2, 3}, y{1e-30, NAN, 1e30};
    return {
        {"tall", "tall", "x", "y", HeatMap{.values = tall}},
        {"wide", "wide", "a label that is as long as this one, and a good deal longer than most", "y",
         HeatMap{.values = wide, .diverging = false}},
        {"blank", "blank", "x", "y", HeatMap{.values = {{NAN, NAN}}}},
        {"cell", "cell", "x", "y", HeatMap{.values = {{1}}}},
        {"row", "row", "x", "y", HeatMap{.values = {{1, NAN, 1}}}},
        {"names", "names", "x", "y",
         HeatMap{.values = {{1, 2}, {3, 4}}, .x_names = {"königlich", "b"}, .y_names = {std::string(70, 'n'), "z"}}},
        {"one", "one", "x", "y", Curves{.series = {{.label = "a", .x = {5}, .y = {5}}}}},
        {"none", "none", "x", "y", Curves{.series = {{.label = "a"}}}},
        {"log", std::string(200, 't') + " and more", "x", "y",
         Curves{.series = {{.label = "a", .x = x, .y = y}, {.label = std::string(90, 'l'), .x = x, .y = y}},
                .references = {{"chance", 0.5}},
                .log_x = true,
                .log_y = true}},
        {"far", "numbers that differ by less than an axis can tell", "x", "y",
         Curves{.series = {{.label = "a", .x = {1e17, 1e17 + 16}, .y = {1, 1 + 1e-15}}}}},
        {"zero", "a logarithm of zero", "x", "y",
         Curves{.series = {{.x = {0, 1}, .y = {-1, 0}}}, .log_x = true, .log_y = true}},
        {"arrows", "arrows", "x", "y",
         Curves{.series = {{.x = x, .y = x, .style = Series::Style::arrows}}, .square = true}},
        {"interval", "interval", "x", "y",
         Curves{.series = {{.label = "a",
                            .x = x,
                            .y = x,
                            .low = {0, 1, NAN},
                            .high = {2, 3, NAN},
                            .style = Series::Style::line_points}}}},
    };
}

} // namespace ordo::lab::test
