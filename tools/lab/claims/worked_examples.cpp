// SPDX-License-Identifier: MIT
// The examples that the introductory texts work by hand, computed by the engine, next to the printed values.
#include "tools/lab/claims/slips.h"
#include "tools/lab/study/prelude.h"

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

// With `rows`, a first column of this name numbers the rows. A column of pairs holds whole numbers.
Figures figures_of(const Table& table, int decimals, const char* rows = nullptr) {
    Figures figures{{}, {}, decimals};
    if (rows) figures.columns.emplace_back(rows);
    figures.columns.insert(figures.columns.end(), table.header.begin(), table.header.end());
    for (const Vector& row : table.rows) {
        std::vector<Cell>& cells = figures.rows.emplace_back();
        if (rows) put(cells, figures.rows.size() - 1);
        for (std::size_t j = 0; j < row.size(); ++j)
            table.header[j] == "pair" ? put(cells, static_cast<int>(row[j])) : put(cells, row[j]);
    }
    return figures;
}

// Adds a column of names after the first column.
Figures named(Figures figures, const char* column, const std::vector<const char*>& names) {
    figures.columns.insert(figures.columns.begin() + 1, column);
    for (std::size_t i = 0; i < names.size(); ++i)
        figures.rows[i].insert(figures.rows[i].begin() + 1, std::string(names[i]));
    return figures;
}

// Sines and cosines stacked as in the notebook, [10, 3, 2]: a row for each position and pair.
Figures stack() {
    Figures figures{{"position", "pair", "sin", "cos"}, {}, 4};
    for (const Vector& row : sinusoidal_table(6, 10, "stack").rows)
        add_row(figures, figures.rows.size() / 3, figures.rows.size() % 3, row);
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
    result.found.push_back(
        text("The notebook prints its tensors of width 6 to four decimals. They differ from the engine's by at most ",
             figure(most), ", and its denominators 1, 21.5443 and 464.1590 by ", figure(relative),
             " of their size: the notebook computes in float."));
    result.answer =
        text(most < 1e-4 && relative < 1e-4 ? "The tables are right" : "The tables of width 6 are NOT right",
             "; a class in one notebook is not.");
}

// The notebook's output where it tests its class, row 1: 12 columns in place of 6.
constexpr double notebook_class[] = {-9.9749e-01, -7.0741e-02, 4.6416e-04, 1, 4.6416e-08, 1,
                                     4.6416e-12,  1,           4.6416e-16, 1, 4.6416e-20, 1};

// The table of a class whose exponent lost its parentheses, next to the columns that it should have.
void add_class(Result& result) {
    const std::vector<Vector> wrong = table_without_parentheses(10, 6);
    const Table right = sinusoidal_table(6, 10);
    Figures figures{{"position", "table"}, {}, -1};
    for (std::size_t j = 0; j < wrong[0].size(); ++j) figures.columns.push_back("dim" + std::to_string(j));
    double most = 0;
    for (std::size_t j = 0; j < wrong[1].size(); ++j)
        most = std::max(most, std::abs(wrong[1][j] / notebook_class[j] - 1));
    for (std::size_t p = 0; p < wrong.size(); ++p)
        for (const auto& [name, row] : {std::pair{"class", &wrong[p]}, {"correct", &right.rows[p]}}) {
            Vector rounded; // the correct table is half as wide
            for (const double v : *row) rounded.push_back(std::strtod(figure(v, 5).c_str(), nullptr));
            add_row(figures, p, name, rounded);
        }
    result.tables.push_back({"class-test",
                             "The output of the notebook's class, to its five digits, above the correct table: it uses "
                             "10000^(k - 1/6) for k = 0 to 5, with a sine and a cosine of each",
                             std::move(figures)});
    Sample fast, slow;
    for (const Vector& row : wrong) fast.add(row[0]), slow.add(row[2]);
    result.found.push_back(
        text("The notebook's class prints ", wrong[0].size(),
             " columns for a width of 6, because its exponent lacks parentheses (reproduced to ", figure(most),
             " of their size). Only columns 0 and 1 vary, with a standard deviation of ", figure(fast.deviation()),
             "; column 2 has ", figure(slow.deviation()), ", and the others less."));
    result.answer += text(" The engine reproduces the worked examples of the texts to all their printed decimals. The "
                          "class lacks parentheses and prints ",
                          wrong[0].size(), " columns for a width of 6.");
}

// Adds two kinds of trained rows, w = e + p + s, with the rows as initialized.
void add_segments(Result& result) {
    constexpr int d = 8, shown = 4;
    const std::vector<int> positions = {0, 1, 2, 3, 4, 5}, segments = {0, 0, 0, 1, 1, 1};
    const auto rows = static_cast<int>(positions.size());
    const auto added = [&](const char* spec) {
        std::vector<float> x(positions.size() * d);
        LooseEncoding(spec, dims_of(d)).stack().embed(view(x.data(), rows, d), {positions, segments});
        return x;
    };
    const std::vector<float> p = added("sinusoidal"), s = added("segment"), both = added("sinusoidal+segment");
    Figures figures{{"position", "segment", "vector"}, {}, 4};
    for (int j = 0; j < shown; ++j) figures.columns.push_back("dim" + std::to_string(j));
    double most = 0;
    for (std::size_t i = 0; i < positions.size(); ++i)
        for (const auto& [name, x] : {std::pair{"p", &p}, {"s", &s}, {"p + s", &both}})
            add_row(figures, positions[i], segments[i], name, std::span(*x).subspan(i * d, shown));
    for (std::size_t i = 0; i < p.size(); ++i)
        most = std::max(most, std::abs(double{both[i]} - double{p[i]} - double{s[i]}));
    result.tables.push_back(
        {"segments",
         text("The vectors of position (p) and segment (s) for six words in two segments, and their sum; width ", d,
              ", the first ", shown, " columns"),
         std::move(figures)});
    result.found.push_back(text("Segments can be combined with any encoding (here with the spec sinusoidal+segment): "
                                "the engine adds p + s, with an error of at most ",
                                figure(most), ". All words of a segment get the same s."));
}

// Learned positions at initialization: nn.init.kaiming_uniform_ with a = sqrt(5) is U(-1/sqrt(d), 1/sqrt(d)), since its
// bound is sqrt(2 / (1 + a^2)) sqrt(3 / d) (He et al. 2015, arXiv 1502.01852). The engine draws normal numbers.
void add_start(Result& result, std::uint64_t seed) {
    constexpr int rows = 5000, d = 10;
    constexpr double a_squared = 5;
    const double bound = std::sqrt(2 / (1 + a_squared)) * std::sqrt(3.0 / d);
    const Random random(seed, 0x5aa7);
    Vector kaiming;
    for (std::uint64_t i = 0; i < rows * d; ++i) kaiming.push_back(bound * (2 * random.uniform(i) - 1));
    std::vector<float> x(std::size_t{rows} * d);
    LooseEncoding("learned:length=5000", dims_of(d), seed).embed(view(x.data(), rows, d));
    Figures figures{{"start", "rows", "width", "least", "most", "deviation"}, {}, 4};
    const Sample drawn = sample_of(kaiming), own = sample_of(x);
    for (const auto& [name, values] : {std::pair{"Kaiming, uniform", drawn}, {"this engine, normal", own}})
        add_row(figures, name, rows, d, values.least(), values.most(), values.deviation());
    result.tables.push_back({"learned-start", "Rows of learned positions before training", std::move(figures)});
    result.found.push_back(text("The text initialises learned positions with Kaiming's uniform numbers for a = "
                                "sqrt(5), which is U(-1/sqrt(d), 1/sqrt(d)): up to ",
                                figure(bound), " at width ", d, ", with a deviation of ", figure(bound / std::sqrt(3)),
                                " (drawn: ", figure(drawn.deviation()), ")."));
}

// The shapes that the texts print, for tables of the engine.
void add_shapes(Result& result) {
    const auto size = [](int width, int length, const char* part) {
        const Table table = sinusoidal_table(width, length, part);
        return std::pair{table.rows.size(), table.rows[0].size()};
    };
    const auto [rows, d] = size(8, 128, "");
    const auto [words, wide] = size(512, 100, "");
    const auto frequencies = size(512, 1, "div_term").first;
    const auto [positions, pairs] = size(6, 10, "angle");
    const auto stacked = size(6, 10, "stack").first;
    const auto [flat, columns] = size(6, 10, "");
    Figures figures{{"tensor", "shape", "axes"}, {}, -1};
    add_row(figures, "table of width 8, unsqueezed", text("(", rows, ", 1, ", d, ")"), "position, batch, dimension");
    add_row(figures, "division term of width 512", text("(", frequencies, ")"), "pair");
    add_row(figures, "table of width 512", text("(", words, ", ", wide, ")"), "position, dimension");
    add_row(figures, "notebook: position / denominator", text("(", positions, ", ", pairs, ")"), "position, pair");
    add_row(figures, "notebook: sine and cosine stacked", text("(", positions, ", ", stacked / positions, ", 2)"),
            "position, pair, sine or cosine");
    add_row(figures, "notebook: flattened", text("(", flat, ", ", columns, ")"), "position, dimension");
    result.tables.push_back({"shapes",
                             "Shapes; the axis of length 1 is the batch: every sequence of a batch gets the same rows",
                             std::move(figures)});
}

void add_small(Result& result) {
    const Table three = sinusoidal_table(4, 3), table = sinusoidal_table(8, 128), wide = sinusoidal_table(512, 100);
    const std::size_t frequencies = sinusoidal_table(512, 1, "div_term").rows.size();
    result.tables.insert(result.tables.begin(),
                         {"width-4", "\"transformers are awesome\": the vectors added to the three words, width 4",
                          named(figures_of(three, 4, "position"), "word", {"transformers", "are", "awesome"})});
    Sample values;
    double squares = 0;
    for (const Vector& row : table.rows) {
        for (const double value : row) values.add(value);
        squares = std::max(squares, std::abs(dot(row, row) - 4));
    }
    // The rows of a shorter table are the first rows of a longer one.
    const bool prefix = std::equal(three.rows.begin(), three.rows.end(), sinusoidal_table(4, 100).rows.begin());
    result.found.push_back(
        text("128 positions of width 8 are a table of ", table.rows.size(), " x ", table.rows[0].size(),
             " with values from ", figure(values.least(), 6), " to ", figure(values.most(), 6),
             ". The squares of each row sum to d/2 = 4 (with an error of at most ", figure(squares),
             "). 100 positions of width 512 are a table of ", wide.rows.size(), " x ", wide.rows[0].size(),
             ", with a division term of ", frequencies, " numbers. The first rows of a table of 100 are ",
             prefix ? "exactly" : "NOT", " those of a table of 3."));
}

// PE(p + k) = M_k PE(p), where M_k rotates pair i by k w_i.
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
                                ". This is the meaning of \"supports relative positioning\"."));
}

Result run(const Request& request) {
    Result result;
    add_notebook(result);
    add_class(result);
    add_small(result);
    add_linear(result);
    add_segments(result);
    add_start(result, request.seed);
    add_shapes(result);
    result.notes = {
        "All numbers come from the engine's own tables (ordo table SPEC --part NAME shows more of them). The texts do "
        "not mention the scale sqrt(d) of the embeddings; it is not applied here (see ordo lab scale). ordo lab waves "
        "draws the same waves, and ordo lab slopes has ALiBi's matrix and slopes."};
    return result;
}

} // namespace

const Experiment worked_examples_experiment{
    .name = "worked-examples",
    .summary = "Are the worked examples of introductory texts right?",
    .details = "\"transformers are awesome\" at width 4, a notebook's six tensors of width 6 and the output of its "
               "class, the shapes and ranges at width 8 and 512, PE(p + k) as a rotation of PE(p), segments together "
               "with positions, and the initial values of learned positions.",
    .run = run};

} // namespace ordo::lab
