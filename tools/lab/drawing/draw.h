// SPDX-License-Identifier: MIT
// Pictures drawn in characters.
#pragma once

#include "tools/lab/drawing/palette.h"
#include "tools/lab/drawing/render.h"

#include <algorithm>

namespace ordo::lab {

// The smallest and the largest number of a picture's colours or of an axis.
struct Range {
    double low = 0, high = 0;
    // Of NaN: NaN. Of values outside: 0 or 1.
    double share(double value) const { return high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0.5; }
};
// HeatMap::scale, or the range of the finite values. A diverging range reaches as far below zero as above it.
Range value_range(const HeatMap& map);
// Whether a cell has no value.
bool has_blank(const HeatMap& map);
struct Axes {
    Range x, y;
};
// Covers all points, intervals, references and origins; in log10 for a logarithmic axis.
Axes axes_of(const Curves& curves);

struct Tick {
    double at = 0; // on the axis; log10 of the value if the axis is logarithmic
    std::string text;
};
// About count round numbers. A logarithmic axis has powers of ten, with numbers between if there are too few.
std::vector<Tick> ticks_of(const Range& range, bool log, int count);
// The values of x that have points, in order, if they are few; otherwise an empty list.
std::vector<double> measured_x(const Curves& curves);

// How a picture distinguishes a series.
struct Look {
    Color color;
    int mark, dash; // of an SVG file: the number of its mark and of its dashes
};
// One look for each series. A label that begins with an encoding's name has the same colour, mark and dash in every
// picture, by the encoding's place in list.def. Several series of one encoding share its colour. Other series follow
// their order in the picture.
std::vector<Look> looks_of(const Curves& curves);

// Lines of at most screen.width columns, the title first. A heat map of few cells is written in numbers. If more cells
// would not fit, it shows rows and columns at equal steps, and a line below says so.
std::string draw(const Picture& picture, const Screen& screen);

// For draw(): the lines below a picture's title.
std::string draw(const Picture& picture, const HeatMap& map, const Screen& screen);
std::string draw(const Picture& picture, const Curves& curves, const Screen& screen);
// Whether a picture has values of named things, which lines would not join. In characters, each name has a row, up to
// screen.rows.
bool of_names(const Curves& curves);

// Cuts or pads text to a number of columns.
std::string fitted(const std::string& text, int columns, bool right = false);
// A paragraph in lines of at most width columns; all but the first are indented.
std::string wrapped(std::string_view text, int width, int indent);
// The number of columns of text: its code points.
int columns_of(std::string_view text);
// A colour in an escape sequence: of a line, or of a relative position in a heat map's range.
std::string color_code(Color color, const Screen& screen);
std::string color_code(bool diverging, double share, const Screen& screen);
// The sequences that set the colour of the characters or of the background after them. Empty without colour.
std::string foreground(const std::string& code, const Screen& screen);
std::string background(const std::string& code, const Screen& screen);
inline constexpr std::string_view reset = "\033[0m";

} // namespace ordo::lab
