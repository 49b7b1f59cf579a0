// SPDX-License-Identifier: MIT
// The examples that the introductory texts work by hand, from the engine, beside what they print.
#include "tools/lab/encodings.h"
#include "tools/lab/lab.h"
#include "tools/lab/numbers.h"

#include <algorithm>

namespace ordo::lab {

namespace {

// "Positional Embedding", a notebook: PE of 10 positions, width 6, as printed there.
constexpr double notebook[10][6] = {
    {0.0000, 1.0000, 0.0000, 1.0000, 0.0000, 1.0000},   {0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0000},
    {0.9093, -0.4161, 0.0927, 0.9957, 0.0043, 1.0000},  {0.1411, -0.9900, 0.1388, 0.9903, 0.0065, 1.0000},
    {-0.7568, -0.6536, 0.1846, 0.9828, 0.0086, 1.0000}, {-0.9589, 0.2837, 0.2300, 0.9732, 0.0108, 0.9999},
    {-0.2794, 0.9602, 0.2749, 0.9615, 0.0129, 0.9999},  {0.6570, 0.7539, 0.3192, 0.9477, 0.0151, 0.9999},
    {0.9894, -0.1455, 0.3629, 0.9318, 0.0172, 0.9999},  {0.4121, -0.9111, 0.4057, 0.9140, 0.0194, 0.9998}};
constexpr double notebook_denominators[] = {1.0000, 21.5443, 464.1590};

// The number of each row comes before it under a name, if there is one; a column of pairs holds whole numbers.
Figures figures_of(const Table& table, int decimals, const char* rows = nullptr) {
    Figures figures{{}, {}, decimals};
    if (rows) figures.columns.emplace_back(rows);
    figures.columns.insert(figures.columns.end(), table.header.begin(), table.header.end());
    for (const std::vector<double>& row : table.rows) {
        std::vector<Cell> cells;
        if (rows) cells.emplace_back(static_cast<std::int64_t>(figures.rows.size()));
        for (std::size_t j = 0; j < row.size(); ++j)
            if (table.header[j] == "pair")
                cells.emplace_back(static_cast<std::int64_t>(row[j]));
            else
                cells.emplace_back(row[j]);
        figures.rows.push_back(std::move(cells));
    }
    return figures;
}

// With a column of names after the first.
Figures named(Figures figures, const char* column, const std::vector<const char*>& names) {
    figures.columns.insert(figures.columns.begin() + 1, column);
    for (std::size_t i = 0; i < names.size(); ++i)
        figures.rows[i].insert(figures.rows[i].begin() + 1, std::string(names[i]));
    return figures;
}

// Sines and cosines as the notebook stacks them, [10, 3, 2]: a row for each position and pair.
Figures stack() {
    Figures figures{{"position", "pair", "sin", "cos"}, {}, 4};
    for (const std::vector<double>& row : sinusoidal_table(6, 10, "stack").rows) {
        const auto n = static_cast<std::int64_t>(figures.rows.size());
        figures.rows.push_back({n / 3, n % 3, row[0], row[1]});
    }
    return figures;
}

// The notebook's tensors, one after the other.
void add_notebook(Result& result) {
    double most = 0;
    const Table pe = sinusoidal_table(6, 10);
    for (std::size_t i = 0; i < 10; ++i) most = std::max(most, largest_difference(pe.rows[i], notebook[i]));
    const Table denominators = sinusoidal_table(6, 3, "denominator");
    // Printed to four decimals of six digits.
    double relative = 0;
    for (std::size_t k = 0; k < 3; ++k)
        relative = std::max(relative, std::abs(denominators.rows[k][1] / notebook_denominators[k] - 1));
    result.tables.push_back({"denominators", "10000^(2k/6)", figures_of(denominators, 4)});
    for (const auto& [part, title] :
         {std::pair{"angle", "position / denominator"}, {"sin", "the sine block"}, {"cos", "the cosine block"}})
        result.tables.push_back({text("width-6-", part), text(title, ", 10 positions, width 6"),
                                 figures_of(sinusoidal_table(6, 10, part), 5, "position")});
    result.tables.push_back({"width-6-stack", "sine and cosine stacked, [10, 3, 2]: a row for each pair", stack()});
    result.tables.push_back({"width-6", "PE, [10, 6]: the stack, flattened", figures_of(pe, 4, "position")});
    result.found.push_back(text(
        "The notebook's tensors of width 6 are reproduced to the four decimals that it prints (largest difference ",
        figure(most), "), and its denominators 1, 21.5443 and 464.1590 to ", figure(relative),
        " of their size: the notebook computes in float."));
}

void add_small(Result& result) {
    const Table three = sinusoidal_table(4, 3), table = sinusoidal_table(8, 128), wide = sinusoidal_table(512, 100);
    const std::size_t frequencies = sinusoidal_table(512, 1, "div_term").rows.size();
    result.tables.insert(result.tables.begin(),
                         {"width-4", "\"transformers are awesome\": what is added to the three words, width 4",
                          named(figures_of(three, 4, "position"), "word", {"transformers", "are", "awesome"})});
    double least = HUGE_VAL, most = -HUGE_VAL, squares = 0;
    for (const std::vector<double>& row : table.rows) {
        least = std::min(least, *std::min_element(row.begin(), row.end()));
        most = std::max(most, *std::max_element(row.begin(), row.end()));
        squares = std::max(squares, std::abs(dot(row, row) - 4));
    }
    // Rows of a shorter table are those of a longer one.
    const bool prefix = std::equal(three.rows.begin(), three.rows.end(), sinusoidal_table(4, 100).rows.begin());
    result.found.push_back(text("128 positions of width 8: a table of ", table.rows.size(), " x ", table.rows[0].size(),
                                ", values from ", figure(least, 6), " to ", figure(most, 6),
                                ", every row's squares sum to d/2 = 4 (off by at most ", figure(squares),
                                "). 100 positions of width 512: ", wide.rows.size(), " x ", wide.rows[0].size(),
                                ", with a division term of ", frequencies,
                                ". A row does not depend on how many there are: ", prefix ? "the same bits" : "NOT so",
                                " in a table of 3 and of 100."));
}

// PE(p + k) = M_k PE(p), where M_k turns pair i by k w_i.
void add_linear(Result& result) {
    constexpr int d = 128, shift = 17;
    const Table table = sinusoidal_table(d, 200);
    const std::vector<double> w = column_of(sinusoidal_table(d, 1, "div_term"), 1);
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

Result run(const Request&) {
    Result result;
    add_notebook(result);
    add_small(result);
    add_linear(result);
    result.notes = {"Everything is the engine's own table (ordo table SPEC --part NAME shows more of it); the scale "
                    "sqrt(d) of the embeddings, which none of the texts mentions, is left out, see ordo lab scale. "
                    "ordo lab waves draws the same waves, ordo lab slopes has ALiBi's matrix and slopes."};
    return result;
}

} // namespace

extern const Experiment worked_examples_experiment;
const Experiment worked_examples_experiment{
    .name = "worked-examples",
    .summary = "are the tables right that the introductory texts work by hand?",
    .details = "\"transformers are awesome\" at width 4, a notebook's six tensors of width 6, the shapes and ranges "
               "at width 8 and 512, PE(p + k) as a rotation of PE(p).",
    .options = {},
    .seconds = 1,
    .quick_seconds = 1,
    .run = run};

} // namespace ordo::lab
