// SPDX-License-Identifier: MIT
// The sinusoidal table as curves: each dimension over the positions, each position over the dimensions.
#include "tools/lab/math/matrix.h"
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace waves_file {

constexpr int wide = 512, shown_positions[] = {1, 10, 50, 99};

// A curve for each dimension.
Curves along_positions(const Table& table) {
    Curves curves;
    for (std::size_t c = 0; c < table.header.size(); ++c) {
        Series& one = curves.add(told("dimension {} ({})", c, c % 2 == 0 ? "sin" : "cos"));
        for (const Vector& row : table.rows) one.add(static_cast<double>(one.x.size()), row[c]);
    }
    return curves;
}

// A curve for each position over every `step`-th column from `first` on, each `apart` above the last.
struct Columns {
    std::size_t first = 0, step = 1;
    double apart = 0;
    int dimensions = 1; // of a column
};
Curves along_dimensions(const Table& table, std::span<const int> positions, const Columns& columns) {
    Curves curves;
    for (const int p : positions) {
        const double base = columns.apart * static_cast<double>(curves.series.size());
        Series& one = curves.add(positions.size() > 1 ? text("position ", p) : "");
        for (std::size_t c = columns.first; c < table.rows[p].size(); c += columns.step)
            one.add(static_cast<double>(c) * columns.dimensions, base + table.rows[p][c]);
    }
    return curves;
}

// With marks on the words of "transformers are awesome".
Curves four_dimensions() {
    const Table table = sinusoidal_table(4, 32);
    Curves curves = along_positions(table);
    Series& marks = curves.add("the three words", Series::Style::points);
    for (std::size_t p = 0; p < 3; ++p)
        for (const double value : table.rows[p]) marks.add(p, value);
    return curves;
}

// The query PE(p) rotated by 5 positions asks for the word 5 places on. At each offset it scores the mean of
// cos(w (offset - 5)) over the frequencies w, because PE(p + k) is PE(p) rotated by k.
Curves asking() {
    Curves curves;
    for (const int width : {6, wide}) {
        const Table table = sinusoidal_table(width, 65);
        Series& series = curves.add("width " + std::to_string(width));
        for (int offset = 0; offset <= 64; ++offset)
            series.add(offset, 2 * dot(table.rows[0], table.rows[std::abs(offset - 5)]) / width);
    }
    Series& multiples = curves.add("5, 10, 15, 20", Series::Style::points);
    for (const int offset : {5, 10, 15, 20}) multiples.add(offset, curves.series[1].y[offset]);
    return curves;
}

// Properties that the table has at any width.
void add_properties(Result& result) {
    Figures& figures = result.table("properties", "Properties of the first 1,000 rows",
                                    {"dimensions", "least", "most", "norm^2", "norm^2 off by", "equal rows",
                                     "off longer table", "off rotated by 17"});
    for (const int d : {4, 8, 64, wide}) {
        const Table table = sinusoidal_table(d, 1000), longer = sinusoidal_table(d, 1200);
        Sample values;
        const Vector w = column_of(sinusoidal_table(d, 1, "div_term"), 1);
        double off = 0, differs = 0, rotated = 0; // PE(p + 17) is PE(p) with pair k rotated by 17 w_k
        for (std::size_t p = 0; p < table.rows.size(); ++p) {
            const Vector &row = table.rows[p], &later = longer.rows[p + 17];
            for (const double value : row) values.add(value);
            differs = std::max(differs, largest_difference(row, longer.rows[p]));
            off = std::max(off, std::abs(dot(row, row) - d / 2.0));
            for (std::size_t k = 0; k < w.size(); ++k) {
                const double angle = std::atan2(row[2 * k], row[2 * k + 1]) + 17 * w[k];
                rotated = std::max(
                    {rotated, std::abs(later[2 * k] - std::sin(angle)), std::abs(later[2 * k + 1] - std::cos(angle))});
            }
        }
        const std::size_t equal = table.rows.size() - std::set(table.rows.begin(), table.rows.end()).size();
        add_row(figures, d, values.least(), values.most(), d / 2.0, off, equal, differs, rotated);
    }
}

Result run(const Request&) {
    Result result;
    add_properties(result);
    const Table eight = sinusoidal_table(8, 100), many = sinusoidal_table(wide, 100);
    constexpr int one[] = {50}, five[] = {0, 1, 10, 50, 99};
    Curves even = along_dimensions(many, shown_positions, {.step = 2}),
           odd = along_dimensions(many, shown_positions, {.first = 1, .step = 2}),
           // the arguments of the sine and the cosine of each pair
        angles = along_dimensions(sinusoidal_table(wide, 100, "angle"), shown_positions, {.dimensions = 2});
    even.references = {{"sin 0", 0}}, odd.references = {{"cos 0", 1}};
    angles.references = {{"a whole turn", 2 * std::numbers::pi}}, angles.log_y = true;
    const char *position = "position", *dimension = "dimension", *value = "value added";
    result.pictures = {
        {"4-dimensions", "4 dimensions along the positions: three words take samples at the start of each wave",
         position, value, four_dimensions()},
        {"8-dimensions", "8 dimensions along the positions: each pair of waves is ten times slower than the one before",
         position, value, along_positions(eight)},
        {"transposed", "The table transposed: a row is a wave, a column is the vector of one position", position,
         dimension, HeatMap{.values = transposed(eight.rows), .value_label = value}},
        {"angles",
         "The angle position / 10000^(2i/512) of each sine and cosine: in the last dimensions no position completes a "
         "turn",
         "dimension 2i", "angle, in radians", std::move(angles)},
        {"all-dimensions",
         "Position 50 over all 512 dimensions: values between -1 and 1, then sines near 0 alternate with cosines near "
         "1",
         dimension, value, along_dimensions(many, one, {})},
        {"each-position",
         "A curve for each position over 512 dimensions: the later the position, the longer it oscillates", dimension,
         "value added, each curve 2.5 above the last", along_dimensions(many, five, {.apart = 2.5})},
        {"asking", "A query for the word 5 places on scores highest there, and has no peaks at 10, 15 and 20",
         "offset, in positions", "score / largest score", asking()},
        {"even-dimensions", "The even of 512 dimensions: the later the position, the further right it oscillates",
         dimension, value, std::move(even)},
        {"odd-dimensions", "The odd of 512 dimensions: the later the position, the further right it oscillates",
         dimension, value, std::move(odd)}};
    return result;
}

} // namespace waves_file

const Experiment waves_experiment{
    .name = "waves",
    .summary = "How do sinusoidal values run along the positions?",
    .details = "4 dimensions with three words marked; 8 dimensions and the same transposed; 512 dimensions at "
               "positions 1, 10, 50 and 99: the angles, one row, a curve for each of five positions, sines and cosines "
               "in separate pictures. The scores of a query for the word 5 places on. Properties that hold at any "
               "width are checked on 1,000 rows. Vaswani et al. 2017, arXiv 1706.03762, section 3.5.",
    .answer = "Along the positions, each dimension is a sine or cosine wave: the first is fast, the last hardly moves. "
              "Along the dimensions, each position is one vector of constant length, and "
              "{:properties/dimensions=512/equal rows} of 1,000 positions share theirs with another, at width 512.",
    .notes = {"PE(p + k) is PE(p) with each pair rotated by an angle. A query can therefore ask for the word 5 places "
              "on. No wave repeats after 5 words: the fastest takes 2 pi = 6.28 words.",
              "Positions are whole numbers, so the fastest waves look angular, and the curve over all 512 dimensions "
              "jumps between a sine near 0 and a cosine near 1 at its end.",
              "Transposing the table changes how it is printed. It has nothing to do with the vocabulary."},
    .seconds = {2, 2},
    .run = waves_file::run};

} // namespace ordo::lab
