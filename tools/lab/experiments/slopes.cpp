// SPDX-License-Identifier: MIT
// ALiBi's slopes, its matrices, and what they do to a weight: e^(-m D) at distance D.
#include "tools/lab/experiments/encodings.h"
#include "tools/lab/lab.h"
#include "tools/lab/math/numbers.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {

namespace {

constexpr int most_heads = 16, most_length = 2048;

// The causal bias of one head, [length, length]; what the mask hides is blank.
std::vector<std::vector<double>> matrix_of(int heads, int head, int length) {
    auto rows = LooseEncoding("alibi", dims_of(8, heads)).table(length, {}, 0, head).rows;
    for (auto& row : rows)
        for (double& value : row)
            if (std::isinf(value)) value = NAN;
    return rows;
}

NamedFigures slope_table() {
    NamedFigures out{"slopes", "The slope of each head for 1 to 16 heads", {{"heads"}, {}, 5}};
    for (int h = 0; h < most_heads; ++h) out.figures.columns.push_back("m" + std::to_string(h));
    for (int n = 1; n <= most_heads; ++n) {
        auto& row = out.figures.rows.emplace_back(out.figures.columns.size());
        row[0] = std::int64_t{n};
        const std::vector<double> slopes = alibi_slopes(n);
        for (std::size_t h = 0; h < slopes.size(); ++h) row[h + 1] = slopes[h];
    }
    return out;
}

// The bias of three queries and keys, all heads below each other.
NamedFigures worked_matrix(int heads, int head) {
    NamedFigures out{"worked",
                     "What is added to the scores of three tokens, head " + std::to_string(head) + " of " +
                         std::to_string(heads),
                     {{"query", "key 0", "key 1", "key 2"}, {}}};
    const auto matrix = matrix_of(heads, head, 3);
    for (std::size_t i = 0; i < matrix.size(); ++i) {
        auto& row = out.figures.rows.emplace_back(out.figures.columns.size());
        row[0] = static_cast<std::int64_t>(i);
        for (std::size_t j = 0; j < matrix[i].size(); ++j) {
            row[j + 1] = matrix[i][j];
            if (std::isnan(matrix[i][j])) row[j + 1] = std::string("masked");
        }
    }
    return out;
}

// What one head leaves of a weight at each distance.
Series kept_by(const char* spec, int heads, int head, int length, std::string label) {
    const auto encodings = make_encodings(spec, dims_of(8, heads));
    // The last query's row, from its own key back.
    std::vector<double> row(static_cast<std::size_t>(length));
    encodings[0]->table_rows({.length = length, .head = head}).fill(length - 1, row);
    Series series{.label = std::move(label)};
    for (int distance = 0; distance < length; ++distance) {
        series.x.push_back(distance);
        series.y.push_back(std::exp(row[static_cast<std::size_t>(length - 1 - distance)]));
    }
    return series;
}

constexpr const char* distance_label = "distance D, in positions";
constexpr const char* factor_label = "factor on the weight before the sum";

// Other shapes of the decay, of the head in the middle.
Picture shapes_picture(int heads, int length) {
    Curves curves;
    const int head = (heads - 1) / 2;
    for (const char* power : {"0.5", "1", "2"})
        curves.series.push_back(kept_by(text("alibi:power=", power).c_str(), heads, head, length,
                                        text("power ", power, std::string_view(power) == "1" ? ", ALiBi" : "")));
    return {"shapes",
            text("Other shapes of decay, e^(-m D^power), head ", head, " of ", heads,
                 ": past distance 1 a root is milder, a square harsher"),
            distance_label, factor_label, std::move(curves)};
}

Picture weights_picture(int heads, int length) {
    Curves curves;
    for (int h = 0; h < heads; ++h)
        curves.series.push_back(kept_by("alibi", heads, h, length, "head " + std::to_string(h)));
    return {"weight",
            "What is left of a weight at each distance, " + std::to_string(heads) +
                " heads: e^(-mD), steep heads see only what is near",
            distance_label, factor_label, std::move(curves)};
}

Picture all_slopes() {
    HeatMap map{.values = {}, .first_y = 1, .value_label = "log2 of the slope", .diverging = false};
    for (int n = 1; n <= most_heads; ++n) {
        auto& row = map.values.emplace_back(most_heads, NAN);
        const std::vector<double> slopes = alibi_slopes(n);
        for (std::size_t h = 0; h < slopes.size(); ++h) row[h] = std::log2(slopes[h]);
    }
    return {"slopes-by-heads",
            "Slopes for 1 to 16 heads: past a power of two the additional heads fall between the others", "head",
            "number of heads", std::move(map)};
}

Result run(const Request& request) {
    const int heads = request.integer("heads", 8);
    const int length = request.only("length", 24, most_length);
    Result result;
    result.tables = {slope_table(), worked_matrix(heads, 0)};
    result.pictures = {all_slopes()};
    const auto bias_of = [&](int head) {
        const std::string title = "ALiBi's bias of head " + std::to_string(head) + " of " + std::to_string(heads) +
                                  ": it falls with the distance; keys after the query are masked";
        result.pictures.push_back({"head-" + std::to_string(head), title, "key", "query",
                                   HeatMap{.values = matrix_of(heads, head, length),
                                           .value_label = "added to the score",
                                           .diverging = false}});
    };
    bias_of(0);
    if (heads > 1) bias_of(heads - 1);
    result.pictures.push_back(weights_picture(heads, length));
    result.pictures.push_back(shapes_picture(heads, length));
    const std::vector<double> slopes = alibi_slopes(heads), sixteen = alibi_slopes(16), twelve = alibi_slopes(12);
    const auto kept = [](double slope, double raised = 3) { return tools::fixed_text(std::exp(-raised * slope), 3); };
    const auto slope_text = [](double slope) { return tools::fixed_text(slope, 4); };
    result.found = {
        "With " + std::to_string(heads) + " heads the slopes run from " + axis_text(slopes.front()) + " to " +
            axis_text(*std::min_element(slopes.begin(), slopes.end())) + ".",
        "With 16 heads a weight at distance 3 keeps " + kept(*std::min_element(sixteen.begin(), sixteen.end())) +
            " of itself in the slowest head and " + kept(sixteen.front()) +
            " in the fastest, before the weights are made to sum to 1. With the square of the distance the fastest "
            "keeps " +
            kept(sixteen.front(), 9) + ", with its root " + kept(sixteen.front(), std::sqrt(3.0)) + ".",
        "12 heads have the slopes of 8 and then " + slope_text(twelve[8]) + " " + slope_text(twelve[9]) + " " +
            slope_text(twelve[10]) + " " + slope_text(twelve[11]) + ", every other one of 16, not 2^(-8h/12)."};
    result.notes = {"Linear in the scores is exponential in the weights. The bias is added after the scores are "
                    "divided by the root of the head's width.",
                    "Counted from head 0 the last of n heads has the slope 2^-8 when n is a power of two."};
    return result;
}

constexpr std::string_view options[] = {"heads", "length"};

} // namespace

extern const Experiment slopes_experiment;
const Experiment slopes_experiment = {
    .name = "slopes",
    .summary = "ALiBi: what is the slope of each head, and what is left of a weight at a distance?",
    .details = "Slopes for 1 to 16 heads, the bias of three tokens, of the steepest and the gentlest of --heads (8) "
               "over --length (24) positions, and e^(-mD) for every head. Decays that are "
               "not linear (alibi:power=P) beside it. Press, Smith and Lewis 2022, arXiv "
               "2108.12409, section 3.",
    .options = options,
    .seconds = 1,
    .quick_seconds = 1,
    .run = run};

} // namespace ordo::lab
