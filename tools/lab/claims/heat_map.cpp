// SPDX-License-Identifier: MIT
// Heat maps of the sinusoidal table: near its start, and at positions no longer small compared with 10,000.
#include "tools/lab/study/cells.h"
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace heat_map_file {

constexpr int far_starts[] = {0, 5000, 50000};

Picture heat_map(const Table& table, const std::string& name, int start) {
    std::string title =
        std::to_string(table.rows.size()) + " x " + std::to_string(table.header.size()) + " sinusoidal table";
    if (start == 0)
        title += ": fast waves on the left, slow waves on the right";
    else // the slowest sine, which is 0 at position 0
        title += ", from position " + tools::grouped(static_cast<std::uint64_t>(start)) +
                 ": even the slowest sine has moved from 0 to " + fixed_text(table.rows[0][table.header.size() - 2], 2);
    return {name, title, "dimension", "position",
            HeatMap{.values = table.rows, .first_y = start, .value_label = "value added"}};
}

// The number of sign changes of a column from one row to the next.
std::int64_t sign_changes(const Table& table, std::size_t column) {
    std::int64_t count = 0;
    for (std::size_t i = 1; i < table.rows.size(); ++i)
        count += (table.rows[i][column] < 0) != (table.rows[i - 1][column] < 0);
    return count;
}

NamedFigures by_column(const Table& table) {
    NamedFigures out{
        "columns-128x8", "128 x 8: each column", {{"dimension", "wavelength", "least", "most", "sign changes"}, {}, 4}};
    const Table frequencies = sinusoidal_table(static_cast<int>(table.header.size()), 1, "div_term");
    for (std::size_t c = 0; c < table.header.size(); ++c) {
        const Sample values = sample_of(column_of(table, c));
        const double wavelength = 2 * std::numbers::pi / frequencies.rows[c / 2][1];
        add_row(out.figures, c, wavelength, values.least(), values.most(), sign_changes(table, c));
    }
    return out;
}

Result run(const Request&) {
    Result result;
    result.expected = {
        "Columns 0 and 1 are stripes. The columns further right are slower and slower waves.",
        "The late even dimensions are near 0 and the late odd ones near 1 only at positions far below 10,000."};
    const Table small = sinusoidal_table(8, 128);
    result.tables.push_back(by_column(small));
    result.pictures.push_back(heat_map(small, "128x8", 0));
    NamedFigures last{"last-pair",
                      "100 x 512 from three starts: the slowest pair of columns",
                      {{"start", "dimension", "least", "most"}, {}, 6}};
    for (const int start : far_starts) {
        const Table table = sinusoidal_table(512, 100, {}, start);
        result.pictures.push_back(heat_map(table, "100x512-from-" + std::to_string(start), start));
        for (const std::size_t column : {510u, 511u}) {
            const Sample values = sample_of(column_of(table, column));
            add_row(last.figures, start, column, values.least(), values.most());
        }
    }
    result.tables.push_back(std::move(last));
    result.answer = with_cells("The left columns are fast stripes, and each pair further right is a slower wave. Near "
                               "position 0 the slowest pair of 512 columns stands still at 0 and 1. At position 50,000 "
                               "it has moved to {:last-pair/4/least|4} and {:last-pair/5/least|4}.",
                               result);
    return result;
}

} // namespace heat_map_file

const Experiment heat_map_experiment{
    .name = "heat-map",
    .summary = "What does the sinusoidal table look like?",
    .details = "The matrix that is added to the embeddings: 128 positions by 8 dimensions, and 100 by 512. The wide "
               "one is also shown from positions 5,000 and 50,000. Vaswani et al. 2017, arXiv 1706.03762, section 3.5.",
    .run = heat_map_file::run};

} // namespace ordo::lab
