// SPDX-License-Identifier: MIT
// The vector (1, 1) encoded at each of the positions 1 to 8: where the tips of the arrows lie.
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace circle_file {

constexpr int first = 1, last = 8;

Series unit_circle() {
    Series circle{.label = "circle of radius 1 about (1, 1)"};
    for (int i = 0; i <= 120; ++i)
        circle.add(1 + std::cos(2 * std::numbers::pi * i / 120), 1 + std::sin(2 * std::numbers::pi * i / 120));
    return circle;
}

Result run(const Request&) {
    const Table table = sinusoidal_table(2, last - first + 1, {}, first);
    NamedFigures tips{"tips",
                      "(1, 1) moved by each position",
                      {{"position", "x", "y", "distance from (1, 1), less 1", "turned by, radians"}, {}}};
    Series arrows{.label = "(1, 1) + PE(p), p = 1 to 8", .style = Series::Style::arrows};
    double residual = 0, step_error = 0;
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const double dx = table.rows[i][0], dy = table.rows[i][1];
        const double off = std::hypot(dx, dy) - 1;
        residual = std::max(residual, std::abs(off));
        tools::Cell turned;
        if (i > 0) {
            const double cross = table.rows[i - 1][0] * dy - table.rows[i - 1][1] * dx;
            const double along = table.rows[i - 1][0] * dx + table.rows[i - 1][1] * dy;
            const double angle = std::atan2(cross, along);
            step_error = std::max(step_error, std::abs(std::abs(angle) - 1));
            turned = angle;
        }
        arrows.add(1 + dx, 1 + dy);
        arrows.names.push_back(std::to_string(first + static_cast<int>(i)));
        add_row(tips.figures, std::int64_t{first} + i, 1 + dx, 1 + dy, off, turned);
    }
    Result result;
    result.expected = {
        "The tips lie on the circle of radius 1 about (1, 1), since PE(p) = (sin p, cos p), each a radian further."};
    result.tables = {std::move(tips)};
    Curves curves{.series = {std::move(arrows), unit_circle()}, .square = true};
    result.pictures = {{"arrows", "(1, 1) moved by positions 1 to 8: every tip lies on the same circle", "dimension 0",
                        "dimension 1", std::move(curves)}};
    result.answer = residual < 1e-9 && step_error < 1e-9 ? "Yes, as regular as a clock: all eight tips lie on one "
                                                           "circle around (1, 1), each one radian further clockwise."
                                                         : "The tips are not on one circle.";
    return result;
}

} // namespace circle_file

const Experiment circle_experiment{
    .name = "circle",
    .summary = "Is there a pattern if positions 1 to 8 move (1, 1)?",
    .details = "Two dimensions of the sinusoidal encoding, PE(p) = (sin p, cos p), added to (1, 1). The arrows alone "
               "look unpredictable; the picture adds the circle on which their tips lie.",
    .run = circle_file::run};

} // namespace ordo::lab
