// SPDX-License-Identifier: MIT
// RoPE: the angle of each pair at each position, and what aligned queries and keys score at a distance.
#include "core/error.h"
#include "core/tensor.h"
#include "tools/lab/lab.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {

namespace {

constexpr int most_distance = 4096;
constexpr const char* bases[] = {"100", "10000", "1000000"};

Dims dims_of(int width) {
    return {width, 1, width, 1, 256};
}

// cos of the angle, a row for each position, a column for each pair.
HeatMap cosines(int width, int positions) {
    const auto encodings = make_encodings("rope", dims_of(width));
    HeatMap map{.values = std::vector<std::vector<double>>(static_cast<std::size_t>(positions)),
                .value_label = "cos of the angle"};
    for (const auto& row : encodings[0]->table({.length = positions}).rows)
        map.values[static_cast<std::size_t>(row[0])].push_back(row[3]);
    return map;
}

// q . k / width of a query and a key of ones, turned to positions 0 and each distance.
std::vector<double> aligned_scores(const std::string& spec, int width, const std::vector<int>& distances) {
    const auto encodings = make_encodings(spec, dims_of(width));
    const int n = static_cast<int>(distances.size());
    Tensor x(n, width);
    std::fill(x.data(), x.data() + static_cast<std::ptrdiff_t>(n) * width, 1.0f);
    encodings[0]->rotate(x.view(), 1, distances, Role::key, 0);
    std::vector<double> scores;
    for (int i = 0; i < n; ++i) {
        double sum = 0; // the query stands at position 0, where nothing is turned
        for (int c = 0; c < width; ++c) sum += x.view().row(i)[c];
        scores.push_back(sum / width);
    }
    return scores;
}

NamedFigures angle_table(int width) {
    const auto encodings = make_encodings("rope", dims_of(width));
    NamedFigures out{
        "frequencies",
        "Pairs of a head of " + std::to_string(width) + ": radians per position and positions per turn",
        {{"pair", "frequency", "positions per turn", "angle at position 1,000", "whole turns by then"}, {}}};
    const auto rows = encodings[0]->table({.part = "frequency"}).rows;
    const auto angles = encodings[0]->table({.length = 1, .start = 1000}).rows;
    const std::size_t step = std::max<std::size_t>(1, rows.size() / 8);
    for (std::size_t k = 0; k < rows.size(); k += step)
        out.figures.rows.push_back({static_cast<std::int64_t>(k), rows[k][1], 2 * M_PI / rows[k][1], angles[k][2],
                                    static_cast<std::int64_t>(angles[k][2] / (2 * M_PI))});
    return out;
}

Result run(const Request& request) {
    const int width = request.integer("dim", 128);
    if (width % 2 != 0) fail(ErrorCode::usage, "option --dim: expected an even width, found ", width);
    std::vector<int> distances;
    for (int d = 1; d <= most_distance; d = std::max(d + 1, static_cast<int>(d * 1.02))) distances.push_back(d);
    Curves curves{.log_x = true};
    curves.references.push_back({"no turn", 1});
    curves.references.push_back({"orthogonal", 0});
    for (const char* base : bases)
        curves.series.push_back({.label = "theta = " + std::string(base),
                                 .x = {distances.begin(), distances.end()},
                                 .y = aligned_scores("rope:theta=" + std::string(base), width, distances)});
    NamedFigures scores{"scores",
                        "A query and a key of ones in a head of " + std::to_string(width) +
                            ": score by distance, 1 at distance 0",
                        {{"distance"}, {}, 3}};
    const std::vector<int> shown{0, 1, 5, 10, 20, 100, 1000};
    for (const int d : shown) scores.figures.rows.push_back({std::int64_t{d}});
    for (const char* base : bases) {
        scores.figures.columns.push_back("theta = " + std::string(base));
        const auto values = aligned_scores("rope:theta=" + std::string(base), width, shown);
        for (std::size_t i = 0; i < values.size(); ++i) scores.figures.rows[i].emplace_back(values[i]);
    }
    const auto text = [&](std::size_t i, std::size_t column) {
        return tools::fixed_text(std::get<double>(scores.figures.rows[i][column]), 3);
    };
    Result result;
    result.found = {"With theta = 10000 and a head of " + std::to_string(width) + " aligned vectors score " +
                        text(1, 2) + " at distance 1, " + text(3, 2) + " at 10, " + text(5, 2) + " at 100 and " +
                        text(6, 2) + " at 1,000: a slow decay, not a steady one.",
                    "A greater theta decays later: at distance 100 the score is " + text(5, 1) + ", " + text(5, 2) +
                        " and " + text(5, 3) + " for theta = 100, 10000 and 1000000."};
    result.notes = {"This is the mean of the cosines, for vectors that agree in every dimension. Between random "
                    "vectors no distance is favoured."};
    result.tables = {angle_table(width), std::move(scores)};
    result.pictures = {{"cosines",
                        "RoPE's angles, a head of " + std::to_string(width) + ": fast pairs left, slow ones right",
                        "pair", "position", cosines(width, 64)},
                       {"aligned",
                        "Score of aligned vectors by distance, a head of " + std::to_string(width) +
                            ": it falls, later for a greater theta",
                        "distance, in positions", "score / width", std::move(curves)}};
    return result;
}

constexpr std::string_view options[] = {"dim"};

} // namespace

extern const Experiment angles_experiment;
const Experiment angles_experiment = {
    .name = "angles",
    .summary = "RoPE: the angle of each pair at each position, and the score of aligned vectors by distance",
    .details = "Angles of a head of --dim (128) columns, and the mean over its columns of q . k for vectors of ones "
               "that the engine has "
               "turned, for three bases theta. Su et al. 2021, arXiv 2104.09864, sections 3.2 and 3.4.3.",
    .options = options,
    .seconds = 1,
    .quick_seconds = 1,
    .run = run};

} // namespace ordo::lab
