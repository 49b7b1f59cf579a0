// SPDX-License-Identifier: MIT
// ALiBi's slopes, its matrices, and the factor e^(-m D) that they apply to a weight at distance D.
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace slopes_file {

constexpr int most_heads = 16, most_length = 2048;

// The causal bias of one head, [length, length]. Masked entries are blank.
std::vector<std::vector<double>> matrix_of(int heads, int head, int length) {
    auto rows = LooseEncoding("alibi", dims_of(8, heads)).table(length, {}, 0, head).rows;
    for (auto& row : rows)
        for (double& value : row)
            if (std::isinf(value)) value = NAN;
    return rows;
}

void add_slopes(Result& result) {
    Figures& figures = result.table("slopes", "The slope of each head for 1 to 16 heads", {"heads"}, 5);
    for (int h = 0; h < most_heads; ++h) figures.columns.push_back("m" + std::to_string(h));
    for (int n = 1; n <= most_heads; ++n) add_row(figures, n, alibi_slopes(n));
}

// The bias of three queries and keys.
void add_worked_matrix(Result& result, int heads, int head) {
    Figures& figures =
        result.table("worked", told("The bias on the scores of three tokens, head {} of {}", head, heads),
                     {"query", "key 0", "key 1", "key 2"});
    for (const Vector& row : matrix_of(heads, head, 3)) {
        std::vector<Cell> cells;
        for (const double bias : row) cells.emplace_back(std::isnan(bias) ? Cell("masked") : Cell(bias));
        add_row(figures, figures.rows.size(), cells);
    }
}

// The fraction of a weight that one head keeps at each distance.
Series kept_by(const char* spec, int heads, int head, int length, std::string label) {
    // The last query's row, from its own key back.
    std::vector<double> row(length);
    make_encodings(spec, dims_of(8, heads))[0]->table_rows({.length = length, .head = head}).fill(length - 1, row);
    Series series{.label = std::move(label)};
    for (int distance = 0; distance < length; ++distance) series.add(distance, std::exp(row[length - 1 - distance]));
    return series;
}

constexpr const char* distance_label = "distance D, in positions";
constexpr const char* factor_label = "factor on the weight";

// Other shapes of the decay, for the head in the middle. For small distances the exponential ones equal ALiBi's.
Picture shapes_picture(int heads, int length) {
    Curves curves;
    const int head = (heads - 1) / 2;
    const std::pair<const char*, const char*> shapes[] = {
        {"alibi:power=0.5", "root"},
        {"alibi", "linear, ALiBi"},
        {"alibi:power=2", "square"},
        {"alibi:penalty=growing,length=2", "grows exponentially, e^(D/2) - 1"},
        {"alibi:penalty=exponential,length=2", "nears the slope, 1 - e^(-D/2)"}};
    for (const auto& [spec, label] : shapes) curves.series.push_back(kept_by(spec, heads, head, length, label));
    return {"shapes",
            text("Other shapes of decay, head ", head, " of ", heads,
                 ": an exponentially growing penalty is mild at short distances and the hardest at long ones"),
            distance_label, factor_label, std::move(curves)};
}

Picture weights_picture(int heads, int length) {
    Curves curves;
    for (int h = 0; h < heads; ++h)
        curves.series.push_back(kept_by("alibi", heads, h, length, "head " + std::to_string(h)));
    return {"weight",
            "The factor e^(-mD) on a weight at distance D, " + std::to_string(heads) +
                " heads: a steep head attends only to near tokens",
            distance_label, factor_label, std::move(curves)};
}

// The bias of a head. Each picture has a colour scale of its own: on a common one, a flat head would be one colour.
Picture bias_picture(int heads, int head, int length) {
    HeatMap map{.values = matrix_of(heads, head, length),
                .blank = "masked",
                .value_label = "added to the score",
                .diverging = false,
                .square = true};
    const double least = map.values.back().front(); // at the largest distance
    return {text("head-", head),
            text("ALiBi's bias of head ", head, " of ", heads, " falls with the distance, from 0 to ", figure(least)),
            "key", "query", std::move(map)};
}

Result run(const Request& request) {
    const int heads = request.integer("heads", 8);
    const int length = request.only("length", 24, most_length);
    Result result;
    add_slopes(result);
    add_worked_matrix(result, heads, 0);
    const std::vector<double> slopes = alibi_slopes(heads);
    const auto [gentlest, steepest] = std::minmax_element(slopes.begin(), slopes.end());
    std::vector<int> shown{static_cast<int>(steepest - slopes.begin())};
    if (heads > 1) shown.push_back(gentlest - slopes.begin());
    result.pictures = {weights_picture(heads, length)};
    for (const int head : shown) result.pictures.push_back(bias_picture(heads, head, length));
    result.pictures.push_back(shapes_picture(heads, length));
    const auto kept = [](double slope) { return fixed_text(std::exp(-10 * slope), 3); };
    result.answer = told("With {} heads the slopes run from {} to {}. Ten tokens away, the steepest head multiplies a "
                         "weight by {} and the flattest by {}.",
                         heads, axis_text(*steepest), axis_text(*gentlest), kept(*steepest), kept(*gentlest));
    return result;
}

} // namespace slopes_file

const Experiment slopes_experiment{
    .name = "slopes",
    .summary = "How strongly do ALiBi's heads penalize distance?",
    .details = "Slopes for 1 to 16 heads, the bias of three tokens, the bias of the steepest and the flattest of "
               "--heads (8) over --length (24) positions, and e^(-mD) for every head. Decays that are not linear "
               "(alibi:power=P, penalty=growing, penalty=exponential) for comparison. Press, Smith and Lewis 2022, "
               "arXiv 2108.12409, section 3.",
    .notes = {"A bias that is linear in the scores is exponential in the weights. It is added after the scores are "
              "divided by the square root of the head's width.",
              "Counted from head 0, the last of n heads has the slope 2^-8 if n is a power of two. 12 heads have the "
              "slopes of 8 heads and then every other slope of 16 heads, not 2^(-8h/12)."},
    .options = {"heads", "length"},
    .run = slopes_file::run};

} // namespace ordo::lab
