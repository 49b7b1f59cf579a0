// SPDX-License-Identifier: MIT
// The examples that the introductory texts work by hand, from the engine, beside what they print.
#include "tools/lab/encodings.h"
#include "tools/lab/lab.h"
#include "tools/lab/numbers.h"

#include <algorithm>

namespace ordo::lab {

namespace {

constexpr std::string_view plain = "sinusoidal:scale=1";

// "Positional Embedding", a notebook: PE of 10 positions, width 6, as printed there.
constexpr double notebook[10][6] = {
    {0.0000, 1.0000, 0.0000, 1.0000, 0.0000, 1.0000},   {0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0000},
    {0.9093, -0.4161, 0.0927, 0.9957, 0.0043, 1.0000},  {0.1411, -0.9900, 0.1388, 0.9903, 0.0065, 1.0000},
    {-0.7568, -0.6536, 0.1846, 0.9828, 0.0086, 1.0000}, {-0.9589, 0.2837, 0.2300, 0.9732, 0.0108, 0.9999},
    {-0.2794, 0.9602, 0.2749, 0.9615, 0.0129, 0.9999},  {0.6570, 0.7539, 0.3192, 0.9477, 0.0151, 0.9999},
    {0.9894, -0.1455, 0.3629, 0.9318, 0.0172, 0.9999},  {0.4121, -0.9111, 0.4057, 0.9140, 0.0194, 0.9998}};
constexpr double notebook_denominators[] = {1.0000, 21.5443, 464.1590};

// A table whose named columns are whole numbers; with a first position, the row's position comes before.
Figures figures_of(const Table& table, int decimals, int first_position = -1) {
    Figures figures{{}, {}, decimals};
    if (first_position >= 0) figures.columns.emplace_back("position");
    for (const std::string& name : table.header) figures.columns.push_back(name);
    for (const std::vector<double>& row : table.rows) {
        std::vector<Cell> cells;
        if (first_position >= 0) cells.emplace_back(first_position + static_cast<std::int64_t>(figures.rows.size()));
        for (std::size_t j = 0; j < row.size(); ++j)
            if (table.header[j] == "pair")
                cells.emplace_back(static_cast<std::int64_t>(row[j]));
            else
                cells.emplace_back(row[j]);
        figures.rows.push_back(std::move(cells));
    }
    return figures;
}

// The notebook's tensors, one after the other.
void add_notebook(Result& result) {
    const LooseEncoding waves(plain, {6, 1, 6, 1, 16});
    double most = 0;
    const Table pe = waves.table(10);
    for (std::size_t i = 0; i < 10; ++i) most = std::max(most, largest_difference(pe.rows[i], notebook[i]));
    const Table denominators = waves.table(3, "denominator");
    // Printed to four decimals of six digits.
    double relative = 0;
    for (std::size_t k = 0; k < 3; ++k)
        relative = std::max(relative, std::abs(denominators.rows[k][1] / notebook_denominators[k] - 1));
    result.tables.push_back({"denominators", "10000^(2k/6)", figures_of(denominators, 4)});
    for (const auto& [part, title] :
         {std::pair{"angle", "position / denominator"}, {"sin", "the sine block"}, {"cos", "the cosine block"}})
        result.tables.push_back(
            {text("width-6-", part), text(title, ", 10 positions, width 6"), figures_of(waves.table(10, part), 5, 0)});
    result.tables.push_back({"width-6-stack", "sine and cosine stacked, [10, 3, 2] as rows of pairs",
                             figures_of(waves.table(10, "stack"), 4)});
    result.tables.push_back({"width-6", "PE, [10, 6]: the stack, flattened", figures_of(pe, 4, 0)});
    result.found.push_back(text("The notebook's tensors of width 6 are reproduced to the four decimals that it prints "
                                "(largest difference ",
                                figure(most), "), and its denominators 1, 21.5443 and 464.1590 to ", figure(relative),
                                " of their size: the notebook computes in float."));
}

void add_small(Result& result) {
    const LooseEncoding waves(plain, {4, 1, 4, 1, 16}), longer(plain, {8, 1, 8, 1, 256});
    const Table three = waves.table(3), table = longer.table(128),
                wide = LooseEncoding(plain, {512, 1, 512, 1, 128}).table(100);
    result.tables.insert(result.tables.begin(),
                         {"width-4", "\"transformers are awesome\": what is added to the three words, width 4",
                          figures_of(three, 4, 0)});
    double least = HUGE_VAL, most = -HUGE_VAL, squares = 0;
    for (const std::vector<double>& row : table.rows) {
        least = std::min(least, *std::min_element(row.begin(), row.end()));
        most = std::max(most, *std::max_element(row.begin(), row.end()));
        squares = std::max(squares, std::abs(dot(row, row) - 4));
    }
    // Rows of a shorter table are those of a longer one.
    const bool prefix = std::equal(three.rows.begin(), three.rows.end(), waves.table(100).rows.begin());
    result.found.push_back(text("128 positions of width 8: a table of ", table.rows.size(), " x ", table.rows[0].size(),
                                ", values from ", figure(least, 6), " to ", figure(most, 6),
                                ", every row's squares sum to d/2 = 4 (off by at most ", figure(squares),
                                "). 100 positions of width 512: ", wide.rows.size(), " x ", wide.rows[0].size(),
                                ". A row does not depend on how many there are: ", prefix ? "the same bits" : "NOT so",
                                " in a table of 3 and of 100."));
}

// PE(p + k) = M_k PE(p), where M_k turns pair i by k w_i.
void add_linear(Result& result) {
    constexpr int d = 128, shift = 17;
    const LooseEncoding waves(plain, {d, 1, d, 1, 256});
    const Table table = waves.table(200);
    const std::vector<double> w = column_of(waves.table(1, "div_term"), 1);
    double most = 0;
    for (std::size_t p = 0; p + shift < table.rows.size(); ++p)
        for (std::size_t k = 0; k < w.size(); ++k) {
            const double s = std::sin(shift * w[k]), c = std::cos(shift * w[k]);
            const double sine = table.rows[p][2 * k], cosine_there = table.rows[p][2 * k + 1];
            most = std::max({most, std::abs(table.rows[p + shift][2 * k] - (sine * c + cosine_there * s)),
                             std::abs(table.rows[p + shift][2 * k + 1] - (cosine_there * c - sine * s))});
        }
    result.found.push_back(text("PE(p + ", shift, ") is a fixed rotation of PE(p) for every p: largest error ",
                                figure(most), " at width ", d,
                                "; that is what \"supports relative positioning\" means."));
}

void add_alibi(Result& result) {
    const LooseEncoding one("alibi:max=0", {8, 1, 8, 1, 16}); // a slope of 1: the bare matrix
    result.tables.push_back({"alibi-3x3", "ALiBi's bias of three positions before the slope, row = query; masked: -inf",
                             figures_of(one.table(3), 0, 0)});
    Figures slopes{{"heads", "head", "slope", "minus_log2"}, {}, 6};
    for (const int heads : {8, 12, 16}) {
        const LooseEncoding alibi("alibi", {8 * heads, heads, 8, 1, 16});
        for (const std::vector<double>& row : alibi.table(1, "slopes").rows)
            slopes.rows.push_back({std::int64_t{heads}, static_cast<std::int64_t>(row[0]), row[1], -std::log2(row[1])});
    }
    result.found.push_back(text("ALiBi's slopes of 8 heads run from ", figure(std::get<double>(slopes.rows[0][2])),
                                " to ", figure(std::get<double>(slopes.rows[7][2])),
                                ", which is head 7 counted from 0; 12 heads "
                                "end in ",
                                figure(std::get<double>(slopes.rows[16][2])), ", ",
                                figure(std::get<double>(slopes.rows[17][2])), ", ",
                                figure(std::get<double>(slopes.rows[18][2])), ", ",
                                figure(std::get<double>(slopes.rows[19][2])), ", every other slope of 16."));
    result.tables.push_back({"alibi-slopes", "Slopes by head: m_0 is the first, m_(n-1) the last", std::move(slopes)});
}

Result run(const Request&) {
    Result result;
    add_notebook(result);
    add_small(result);
    add_linear(result);
    add_alibi(result);
    result.notes = {"Everything is the engine's own table (ordo table SPEC --part NAME shows more of it); the scale "
                    "sqrt(d) of the embeddings, which none of the texts mentions, is left out, see ordo lab scale."};
    return result;
}

} // namespace

extern const Experiment worked_examples_experiment;
const Experiment worked_examples_experiment{
    .name = "worked-examples",
    .summary = "are the tables right that the introductory texts work by hand?",
    .details = "\"transformers are awesome\" at width 4, a notebook's six tensors of width 6, the shapes and ranges at "
               "width 8 and 512, ALiBi's matrix and slopes.",
    .options = {},
    .seconds = 1,
    .quick_seconds = 1,
    .run = run};

} // namespace ordo::lab
