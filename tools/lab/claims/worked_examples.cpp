// SPDX-License-Identifier: MIT
// The examples that the introductory texts work by hand, computed by the engine, next to the printed values.
#include "tools/lab/claims/slips.h"
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace worked_examples_file {

// "Positional Embedding", a notebook: PE of 10 positions, width 6, as printed there.
constexpr double notebook[10][6] = {
    {0.0000, 1.0000, 0.0000, 1.0000, 0.0000, 1.0000},   {0.8415, 0.5403, 0.0464, 0.9989, 0.0022, 1.0000},
    {0.9093, -0.4161, 0.0927, 0.9957, 0.0043, 1.0000},  {0.1411, -0.9900, 0.1388, 0.9903, 0.0065, 1.0000},
    {-0.7568, -0.6536, 0.1846, 0.9828, 0.0086, 1.0000}, {-0.9589, 0.2837, 0.2300, 0.9732, 0.0108, 0.9999},
    {-0.2794, 0.9602, 0.2749, 0.9615, 0.0129, 0.9999},  {0.6570, 0.7539, 0.3192, 0.9477, 0.0151, 0.9999},
    {0.9894, -0.1455, 0.3629, 0.9318, 0.0172, 0.9999},  {0.4121, -0.9111, 0.4057, 0.9140, 0.0194, 0.9998}};

// A table of the engine, with its rows numbered in a first column, unless it numbers pairs itself.
Figures& add(Result& result, const std::string& name, const char* title, const Table& table, int decimals) {
    const bool pairs = table.header[0] == "pair";
    std::vector<std::string> columns = table.header;
    if (!pairs) columns.insert(columns.begin(), "position");
    Figures& figures = result.table(name, title, columns, decimals);
    for (const Vector& row : table.rows) add_row(figures, figures.rows.size(), std::span(row).subspan(pairs ? 1 : 0));
    return figures;
}

// "transformers are awesome", and the notebook's tensors, one after the other.
void add_tables(Result& result) {
    Figures& words =
        add(result, "width-4", "\"transformers are awesome\": the vectors added to the three words, width 4",
            sinusoidal_table(4, 3), 4);
    words.columns.insert(words.columns.begin() + 1, "word");
    for (std::size_t i = 0; i < 3; ++i)
        words.rows[i].insert(words.rows[i].begin() + 1, Cell(std::array{"transformers", "are", "awesome"}[i]));
    add(result, "denominators", "10000^(2k/6)", sinusoidal_table(6, 3, "denominator"), 4);
    for (const auto& [part, title] : {std::pair{"angle", "position / denominator, 10 positions, width 6"},
                                      {"sin", "the sine block, 10 positions, width 6"},
                                      {"cos", "the cosine block, 10 positions, width 6"}})
        add(result, text("width-6-", part), title, sinusoidal_table(6, 10, part), 5);
    Figures& stack = result.table("width-6-stack", "sine and cosine stacked, [10, 3, 2]: a row for each pair",
                                  {"position", "pair", "sin", "cos"}, 4);
    for (const Vector& row : sinusoidal_table(6, 10, "stack").rows)
        add_row(stack, stack.rows.size() / 3, stack.rows.size() % 3, row);
    const Table pe = sinusoidal_table(6, 10);
    add(result, "width-6", "PE, [10, 6]: the stack, flattened", pe, 4);
    double most = 0;
    for (std::size_t i = 0; i < 10; ++i) most = std::max(most, largest_difference(pe.rows[i], notebook[i]));
    result.answer =
        told("The printed tables of width 6 differ from the engine's by {} at most, by their rounding. A class "
             "in the same notebook is wrong: it lacks parentheses.",
             figure(most));
}

// The table of a class whose exponent lost its parentheses, above the correct columns.
void add_class(Result& result) {
    Figures& figures = result.table(
        "class-test",
        "The output of the notebook's class, to its five digits, above the correct table: it uses 10000^(k - 1/6) for "
        "k = 0 to 5, with a sine and a cosine of each",
        {"position", "table"});
    for (int j = 0; j < 12; ++j) figures.columns.push_back(text("dim", j));
    const std::vector<Vector> wrong = table_without_parentheses(10, 6), right = sinusoidal_table(6, 10).rows;
    for (std::size_t p = 0; p < wrong.size(); ++p)
        for (const auto& [name, row] : {std::pair{"class", &wrong[p]}, {"correct", &right[p]}}) {
            Vector rounded; // the correct table is half as wide
            for (const double v : *row) rounded.push_back(std::strtod(figure(v, 5).c_str(), nullptr));
            add_row(figures, p, name, rounded);
        }
}

// Adds two kinds of trained rows, w = e + p + s, with the rows as initialized.
void add_segments(Result& result) {
    constexpr int d = 8;
    Figures& figures = result.table("segments",
                                    "The vectors of position (p) and segment (s) for six words in two segments, and "
                                    "their sum (spec sinusoidal+segment); width 8, the first 4 columns",
                                    {"position", "segment", "vector", "dim0", "dim1", "dim2", "dim3"}, 4);
    const std::vector<int> positions = {0, 1, 2, 3, 4, 5}, segments = {0, 0, 0, 1, 1, 1};
    const auto added = [&](const char* spec) {
        std::vector<float> x(positions.size() * d);
        LooseEncoding(spec, dims_of(d)).stack().embed(view(x.data(), 6, d), {positions, segments});
        return x;
    };
    const std::vector<float> p = added("sinusoidal"), s = added("segment"), both = added("sinusoidal+segment");
    for (std::size_t i = 0; i < positions.size(); ++i)
        for (const auto& [name, x] : {std::pair{"p", &p}, {"s", &s}, {"p + s", &both}})
            add_row(figures, positions[i], segments[i], name, std::span(*x).subspan(i * d, 4));
}

// Learned positions at initialization: nn.init.kaiming_uniform_ with a = sqrt(5) is U(-1/sqrt(d), 1/sqrt(d)), since its
// bound is sqrt(2 / (1 + a^2)) sqrt(3 / d) (He et al. 2015, arXiv 1502.01852). The engine draws normal numbers.
void add_start(Result& result, std::uint64_t seed) {
    constexpr int rows = 5000, d = 10;
    Figures& figures = result.table("learned-start",
                                    "Rows of learned positions before training. Kaiming's uniform numbers for a = "
                                    "sqrt(5), as in the text, are U(-1/sqrt(d), 1/sqrt(d))",
                                    {"start", "rows", "width", "least", "most", "deviation"}, 4);
    const double bound = std::sqrt(2 / (1 + 5.0)) * std::sqrt(3.0 / d);
    const Random random(seed, 0x5aa7);
    Sample kaiming;
    for (std::uint64_t i = 0; i < rows * d; ++i) kaiming.add(bound * (2 * random.uniform(i) - 1));
    std::vector<float> x(std::size_t{rows} * d);
    LooseEncoding("learned:length=5000", dims_of(d), seed).embed(view(x.data(), rows, d));
    for (const auto& [name, values] : {std::pair{"Kaiming, uniform", kaiming}, {"this engine, normal", sample_of(x)}})
        add_row(figures, name, rows, d, values.least(), values.most(), values.deviation());
}

// The shapes that the texts print, for tables of the engine.
void add_shapes(Result& result) {
    Figures& figures = result.table(
        "shapes", "Shapes; the axis of length 1 is the batch: every sequence of a batch gets the same rows",
        {"tensor", "shape", "axes"});
    const auto add_shape = [&](const char* name, const char* shape, const char* axes, const std::vector<Vector>& rows) {
        add_row(figures, name, told(shape, rows.size(), rows[0].size()), axes);
    };
    add_shape("table of width 8, unsqueezed", "({}, 1, {})", "position, batch, dimension",
              sinusoidal_table(8, 128).rows);
    add_shape("division term of width 512", "({})", "pair", sinusoidal_table(512, 1, "div_term").rows);
    add_shape("table of width 512", "({}, {})", "position, dimension", sinusoidal_table(512, 100).rows);
    add_shape("notebook: position / denominator", "({}, {})", "position, pair", sinusoidal_table(6, 10, "angle").rows);
    add_row(figures, "notebook: sine and cosine stacked",
            told("(10, {}, 2)", sinusoidal_table(6, 10, "stack").rows.size() / 10), "position, pair, sine or cosine");
    add_shape("notebook: flattened", "({}, {})", "position, dimension", sinusoidal_table(6, 10).rows);
    add_shape("notebook: output of the class", "({}, {})", "position, dimension", table_without_parentheses(10, 6));
}

Result run(const Request& request) {
    Result result;
    add_tables(result);
    add_class(result);
    add_segments(result);
    add_start(result, request.seed);
    add_shapes(result);
    return result;
}

} // namespace worked_examples_file

const Experiment worked_examples_experiment{
    .name = "worked-examples",
    .summary = "Are the worked examples of introductory texts right?",
    .details = "\"transformers are awesome\" at width 4, a notebook's six tensors of width 6 and the output of its "
               "class, the shapes at width 8 and 512, segments together with positions, and the initial values of "
               "learned positions.",
    .notes = {"All numbers come from the engine's own tables (ordo table SPEC --part NAME shows more of them). The "
              "texts do not mention the scale sqrt(d) of the embeddings; it is not applied here (see ordo lab scale)."},
    .run = worked_examples_file::run};

} // namespace ordo::lab
