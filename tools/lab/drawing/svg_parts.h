// SPDX-License-Identifier: MIT
// Elements of an SVG file, in pixels, without scripts and ids; and axes.
#pragma once

#include "core/number.h"
#include "tools/lab/drawing/draw.h"

#include <cmath>
#include <numbers>

namespace ordo::lab::svg {

inline constexpr double small = 13; // letters
inline const std::string light = "stroke=\"#dddddd\"", dark = "stroke=\"#444444\"";

inline std::string px(double value) {
    std::string out = fixed_text(value, 1);
    return out.ends_with(".0") ? out.substr(0, out.size() - 2) : out;
}

inline std::string color_text(Color color) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "#%02x%02x%02x", color.red, color.green, color.blue);
    return buffer;
}

// The letters of a font without serifs are about half as wide as they are high.
inline double breadth(std::string_view text, double size = small) {
    return 0.56 * size * columns_of(text);
}
inline double breadth(const std::vector<Tick>& ticks) {
    double most = 0;
    for (const Tick& tick : ticks) most = std::max(most, breadth(tick.text));
    return most;
}

// ---- Elements ---------------------------------------------------------------------------------

struct Letters {
    double size = 15;
    const char* anchor = "middle"; // start, middle or end
    double turn = 0;               // in degrees, around the place
    std::string color = "#222222";
};

inline std::string written(double x, double y, std::string_view words, const Letters& as = {}) {
    const std::string at = joined(px(x), " ", px(y));
    return joined("<text transform=\"translate(", at, as.turn == 0 ? "" : ") rotate(" + px(as.turn),
                  ")\" dy=\".35em\" font-size=\"", px(as.size), "\" text-anchor=\"", as.anchor, "\" fill=\"", as.color,
                  "\">", escaped_html(words), "</text>\n");
}

inline std::string path(const std::string& d, const std::string& style) {
    return joined("<path d=\"", d, "\" ", style, "/>\n");
}

inline std::string line(double x0, double y0, double x1, double y1, const std::string& style) {
    return path(joined("M", px(x0), " ", px(y0), "L", px(x1), " ", px(y1)), style);
}

inline std::string rectangle(double x, double y, double w, double h, const std::string& style) {
    return joined("<rect x=\"", px(x), "\" y=\"", px(y), "\" width=\"", px(w), "\" height=\"", px(h), "\" ", style,
                  "/>\n");
}

inline std::string stroke(const Look& look) {
    constexpr const char* dashes[] = {"none", "9 5", "2 4", "9 4 2 4", "14 4 2 4 2 4"};
    return joined("fill=\"none\" stroke-width=\"2\" stroke=\"", color_text(look.color), "\" stroke-dasharray=\"",
                  dashes[look.dash % std::size(dashes)], "\"");
}

inline std::string band(const Look& look) {
    return joined("fill=\"", color_text(look.color), "\" fill-opacity=\".15\"");
}

// Circle, square, triangles, diamond and pentagon, then the same unfilled.
inline std::string mark(double x, double y, const Look& look, double size) {
    constexpr std::pair<int, double> shapes[] = {{24, 0}, {4, 45}, {3, -90}, {3, 90}, {4, 0}, {5, -90}};
    const auto [corners, turn] = shapes[look.mark % std::size(shapes)]; // turn: of the first corner, in degrees
    std::string d;
    for (int i = 0; i < corners; ++i) {
        const double angle = (turn + 360.0 * i / corners) * std::numbers::pi / 180;
        d += joined(i == 0 ? "M" : "L", px(x + size * std::cos(angle)), " ", px(y + size * std::sin(angle)));
    }
    const std::string color = color_text(look.color);
    return path(d + "z", joined("stroke-width=\"1.5\" stroke=\"", color, "\" fill=\"",
                                look.mark < static_cast<int>(std::size(shapes)) ? color : "#ffffff", "\""));
}

// ---- Axes -------------------------------------------------------------------------------------

// A range on a stretch of pixels.
struct Axis {
    Range range = {};
    double from = 0, to = 0;
    std::vector<Tick> ticks = {};
    double at(double value) const { return from + (value - range.low) / (range.high - range.low) * (to - from); }
};

inline std::vector<Tick> ticks_of_names(const std::vector<std::string>& names) {
    std::vector<Tick> ticks;
    constexpr int most = 24; // letters
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!names[i].empty())
            ticks.push_back({static_cast<double>(i),
                             columns_of(names[i]) > most ? fitted(names[i], most - 1) + "\u2026" : names[i]});
    return ticks;
}

// The plot between its axes. `right` pixels remain at its right for a scale.
struct Frame {
    std::string x_label, y_label;
    Axis x = {}, y = {};
    double width = 720, height = 460, below = 24; // below: of the numbers under the plot
    double key = 0;                               // the height of a key under everything
    double letters = small;                       // of names under the plot
    std::string remark = {};                      // under the label of x

    void place(double right, bool high) {
        const bool upright = is_upright(right);
        x.from = 52 + breadth(y.ticks), x.to = width - right;
        if (upright) {
            letters = std::clamp((x.to - x.from) / static_cast<double>(x.ticks.size()), 8.0, small);
            below = breadth(x.ticks) * letters / small + 12;
        }
        const double rows = (small + 1) * static_cast<double>(y.ticks.size()); // of names at the left
        height = std::max(high ? 860.0 : upright ? 600 : 460, rows + below + 70) + key;
        y.from = height - key - below - (remark.empty() ? 34 : 54), y.to = 16;
    }
    void make_square(double cells_x, double cells_y) {
        const double unit = std::min((x.to - x.from) / cells_x, (y.from - y.to) / cells_y);
        const double spare = y.from - unit * cells_y - y.to; // of the height
        x.to = x.from + unit * cells_x, y.from -= spare, height -= spare;
    }
    std::string drawn(bool grid) const {
        const double middle = (x.from + x.to) / 2, label = y.from + below + 16;
        const bool upright = below > 24;
        const double label_size = 15 * std::min(1.0, (width - 8) / breadth(x_label, 15));
        std::string lines, out;
        for (const Tick& tick : x.ticks) {
            const double at = x.at(tick.at);
            if (grid) lines += line(at, y.from, at, y.to, light);
            out += line(at, y.from, at, y.from + 5, dark) +
                   written(at, y.from + (upright ? 10 : 16), tick.text,
                           {letters, upright ? "end" : "middle", upright ? -90.0 : 0});
        }
        for (const Tick& tick : y.ticks) {
            const double at = y.at(tick.at);
            if (grid) lines += line(x.from, at, x.to, at, light);
            out += line(x.from - 5, at, x.from, at, dark) + written(x.from - 9, at, tick.text, {small, "end"});
        }
        return lines + out + line(x.from, y.from, x.to, y.from, dark) + line(x.from, y.from, x.from, y.to, dark) +
               written(std::min(middle, std::max(width / 2, width - 4 - breadth(x_label, label_size) / 2)), label,
                       x_label, {.size = label_size}) +
               written(middle, label + 20, remark) +
               written(16, std::max((y.from + y.to) / 2, breadth(y_label, 15) / 2 + 4), y_label, {.turn = -90});
    }

private:
    bool is_upright(double right) const {
        return (breadth(x.ticks) + 6) * static_cast<double>(x.ticks.size()) > width - right - 90;
    }
};

} // namespace ordo::lab::svg
