// SPDX-License-Identifier: MIT
// Pictures drawn in characters.
#pragma once

#include "tools/lab/drawing/palette.h"
#include "tools/lab/drawing/render.h"

namespace ordo::lab {

// The smallest and the largest number that a picture's colours or an axis run over.
struct Range {
    double low = 0, high = 0;
    double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};
// HeatMap::scale, or of the finite values; diverging: as far below zero as above it.
Range value_range(const HeatMap& map);
// Whether a cell has no value.
bool has_blank(const HeatMap& map);
struct Axes {
    Range x, y;
};
// Of all points, intervals, references and origins; in log10 where the axis is.
Axes axes_of(const Curves& curves);

struct Tick {
    double at = 0; // on the axis: log10 of what it says where the axis is logarithmic
    std::string text;
};
// About count round numbers; on a logarithmic axis powers of ten, or numbers between where there are too few.
std::vector<Tick> ticks_of(const Range& range, bool log, int count);
// The values of x that there are points at, in order, where they are few; otherwise none.
std::vector<double> measured_x(const Curves& curves);

// Lines of at most screen.width columns, the title first. A heat map of few cells is written in numbers; where there
// are more than fit, rows and columns an equal number apart are shown, which is said below.
std::string draw(const Picture& picture, const Screen& screen);

// For draw(): what stands below a picture's title.
std::string draw(const Picture& picture, const HeatMap& map, const Screen& screen);
std::string draw(const Picture& picture, const Curves& curves, const Screen& screen);

// text cut or padded to a number of columns.
std::string fitted(const std::string& text, int columns, bool right = false);
// A paragraph in lines of at most width columns; all but the first are indented.
std::string wrapped(std::string_view text, int width, int indent);
// Columns that text takes: code points.
int columns_of(std::string_view text);
// Colours as escape sequences name them: of a line, or of a value's share of a heat map's range.
std::string color_code(Color color, const Screen& screen);
std::string color_code(bool diverging, double share, const Screen& screen);
// The sequences that set them for what follows: for the characters, or behind them. Nothing without colour.
std::string foreground(const std::string& code, const Screen& screen);
std::string background(const std::string& code, const Screen& screen);
inline constexpr std::string_view reset = "\033[0m";

} // namespace ordo::lab
