// SPDX-License-Identifier: MIT
// RoPE: how fast each pair of columns rotates, and its angle at each position.
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace angles_file {

constexpr int positions = 64, far = 1000;
constexpr std::size_t shown_pairs = 8;

// The cosine of the angle: a row for each position, a column for each pair.
HeatMap cosines(const LooseEncoding& rope) {
    HeatMap map{.values = std::vector<Vector>(positions), .value_label = "cos of the angle"};
    for (const auto& row : rope.table(positions).rows) map.values[row[0]].push_back(row[3]);
    return map;
}

Result run(const Request& request) {
    const int width = request.integer("dim", 128);
    if (width % 2 != 0) fail(ErrorCode::usage, "option --dim: expected an even width, found ", width);
    const LooseEncoding rope("rope", dims_of(width));
    const Vector frequencies = column_of(rope.table(1, "frequency"), 1), angles = column_of(rope.table(1, {}, far), 2);
    constexpr double turn = 2 * std::numbers::pi;

    Figures table{{"pair", "frequency", "positions_per_turn", "angle_at_1000", "turns_by_then"}, {}};
    const std::size_t pairs = frequencies.size(), step = std::max<std::size_t>(1, pairs / shown_pairs);
    for (std::size_t k = 0; k < pairs; k = k + step < pairs || k + 1 == pairs ? k + step : pairs - 1)
        add_row(table, k, frequencies[k], turn / frequencies[k], angles[k], static_cast<int>(angles[k] / turn));
    const auto slow = std::count_if(angles.begin(), angles.end(), [](double angle) { return angle < turn; });

    const std::string head = text("a head of ", width);
    Result result;
    result.answer =
        text("In ", head, " dimensions the first pair completes a turn every ", axis_text(turn / frequencies.front()),
             " positions, the last one every ", axis_text(turn / frequencies.back()), ". At position ",
             tools::grouped(far), ", ", slow, " of the ", pairs, " pairs have not completed a single turn.");
    result.notes = {"The slow pairs tell positions apart that the fast ones confuse. ordo lab rotary shows the scores "
                    "that follow from these angles, by distance and for other bases."};
    result.tables = {{"frequencies",
                      text("Pairs of ", head, " dimensions: radians per position and positions per turn"),
                      std::move(table)}};
    result.pictures = {{"cosines",
                        text("RoPE's angles, ", head, " dimensions: fast pairs on the left, slow pairs on the right"),
                        "pair", "position", cosines(rope)}};
    return result;
}

} // namespace angles_file

const Experiment angles_experiment{
    .name = "angles",
    .summary = "How fast does each pair of RoPE rotate?",
    .details =
        "Frequencies and angles of a head of --dim (128) columns. Su et al. 2021, arXiv 2104.09864, section 3.2.2.",
    .options = {"dim"},
    .run = angles_file::run};

} // namespace ordo::lab
