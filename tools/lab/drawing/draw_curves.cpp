// SPDX-License-Identifier: MIT
// Curves in characters. With one series, or with colours that tell the series apart, each character has eight dots
// (Unicode's Braille patterns). Otherwise each series has a letter. Intervals are strokes.
#include "tools/lab/drawing/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ordo::lab {
namespace {

constexpr int margin = 10; // columns of the numbers at the left

// A grid of characters with 2 x 4 dots each; a character belongs to the series that drew on it last.
class Canvas {
public:
    Canvas(int columns, int lines, const Axes& axes)
        : columns_(columns), lines_(lines), axes_(axes), cells_(static_cast<std::size_t>(columns * lines)) {}

    struct Cell {
        unsigned dots = 0;
        int owner = -1;      // series; -2: a reference line
        bool stroke = false; // contains only intervals
    };
    // The row of characters for a value.
    int row_of(double y) const { return dot_y(y) / 4; }
    int column_of(double x) const { return dot_x(x) / 2; }
    const Cell& at(int row, int column) const { return cells_[row * columns_ + column]; }

    void point(double x, double y, int owner) { dot(dot_x(x), dot_y(y), owner); }
    // A thick dot, visible on a line.
    void mark(double x, double y, int owner) {
        for (const int dx : {0, 1})
            for (const int dy : {0, 1}) dot(dot_x(x) + dx, dot_y(y) + dy, owner);
    }
    void line(double x0, double y0, double x1, double y1, int owner) {
        const double ax = dot_x(x0), ay = dot_y(y0), bx = dot_x(x1), by = dot_y(y1);
        const int steps = static_cast<int>(std::max({std::abs(bx - ax), std::abs(by - ay), 1.0}));
        for (int i = 0; i <= steps; ++i) {
            const double part = static_cast<double>(i) / steps;
            dot(static_cast<int>(std::lround(ax + (bx - ax) * part)),
                static_cast<int>(std::lround(ay + (by - ay) * part)), owner);
        }
    }
    // Later drawings cover it.
    void interval(double x, double low, double high, int owner) {
        line(x, low, x, high, owner);
        for (int row = row_of(high); row <= row_of(low); ++row)
            if (row >= 0 && row < lines_) cells_[row * columns_ + column_of(x)].stroke = true;
    }
    void across(double y) {
        for (int x = 0; x < columns_ * 2; x += 4) dot(x, dot_y(y), -2);
    }

private:
    int dot_x(double x) const { return static_cast<int>(std::lround(axes_.x.share(x) * (columns_ * 2 - 1))); }
    int dot_y(double y) const { return static_cast<int>(std::lround((1 - axes_.y.share(y)) * (lines_ * 4 - 1))); }
    void dot(int x, int y, int owner) {
        if (x < 0 || y < 0 || x >= columns_ * 2 || y >= lines_ * 4) return;
        static constexpr unsigned bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        Cell& cell = cells_[y / 4 * columns_ + x / 2];
        cell.dots |= bits[y % 4][x % 2];
        cell.owner = owner;
        cell.stroke = false;
    }

    int columns_, lines_;
    Axes axes_;
    std::vector<Cell> cells_;
};

void draw_intervals(Canvas& canvas, const Curves& curves, const Series& series, int owner) {
    for (std::size_t i = 0; i < series.low.size(); ++i) {
        const double x = curves.on_x(series.x[i]), low = curves.on_y(series.low[i]), high = curves.on_y(series.high[i]);
        if (std::isfinite(x) && std::isfinite(low) && std::isfinite(high)) canvas.interval(x, low, high, owner);
    }
}

void draw_series(Canvas& canvas, const Curves& curves, const Series& series, int owner) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
        const double x = curves.on_x(series.x[i]), y = curves.on_y(series.y[i]);
        if (!std::isfinite(x) || !std::isfinite(y)) continue;
        if (series.style == Series::Style::arrows) canvas.line(curves.on_x(0), curves.on_y(0), x, y, owner);
        double from = i > 0 ? curves.on_x(series.x[i - 1]) : HUGE_VAL;
        const double level = i > 0 ? curves.on_y(series.y[i - 1]) : HUGE_VAL;
        const bool joined = series.style != Series::Style::points && series.style != Series::Style::arrows;
        if (joined && std::isfinite(from) && std::isfinite(level)) {
            if (series.style == Series::Style::steps) {
                canvas.line(from, level, x, level, owner);
                from = x;
            }
            canvas.line(from, level, x, y, owner);
        }
        if (series.style == Series::Style::line || series.style == Series::Style::steps)
            canvas.point(x, y, owner);
        else
            canvas.mark(x, y, owner);
    }
}

std::string braille(unsigned dots) {
    const unsigned code = 0x2800 + dots;
    return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
            static_cast<char>(0x80 | (code & 0x3f))};
}

// "a" to "z", then "A" to "Z", then again.
std::string letter(int series) {
    static constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return std::string(1, letters[static_cast<std::size_t>(series) % letters.size()]);
}

// The look of each series: a colour of its own, or a letter if colours cannot tell them apart.
class Inks {
public:
    Inks(const Curves& curves, const Screen& screen) : looks_(looks_of(curves)), screen_(screen) {
        std::set<std::array<std::uint8_t, 3>> colors;
        for (const Look& look : looks_) colors.insert({look.color.red, look.color.green, look.color.blue});
        letters_ = colors.size() < looks_.size() || (looks_.size() > 1 && !screen.color);
    }
    bool letters() const { return letters_; }
    // Returns text in the colour of a series.
    std::string colored(const std::string& text, int series) const {
        if (!screen_.color) return text;
        const Color color = looks_[series].color;
        return foreground(color_code(color, screen_), screen_) + text + std::string(reset);
    }
    std::string key(int series) const { return colored(letters_ ? letter(series) : "━━", series); }
    std::string cell(const Canvas::Cell& cell) const {
        if (cell.dots == 0) return " ";
        if (cell.owner < 0) return letters_ ? "-" : braille(cell.dots);
        return colored(cell.stroke ? "│" : letters_ ? letter(cell.owner) : braille(cell.dots), cell.owner);
    }

private:
    std::vector<Look> looks_;
    const Screen& screen_;
    bool letters_;
};

bool has_intervals(const Curves& curves) {
    return std::any_of(curves.series.begin(), curves.series.end(), [](const Series& s) { return !s.low.empty(); });
}

std::string legend(const Curves& curves, const Inks& inks, const Screen& screen, const char* interval = "│ ") {
    std::vector<std::pair<std::string, int>> entries; // text and its columns
    if (curves.series.size() > 1 || !curves.references.empty())
        for (std::size_t i = 0; i < curves.series.size(); ++i) {
            const std::string& label = curves.series[i].label;
            if (label.empty()) continue;
            entries.emplace_back(inks.key(static_cast<int>(i)) + " " + label,
                                 (inks.letters() ? 2 : 3) + columns_of(label));
        }
    if (has_intervals(curves)) entries.emplace_back(interval + curves.interval, 2 + columns_of(curves.interval));
    for (const Reference& reference : curves.references) {
        const std::string label = reference.label + " (" + axis_text(reference.y) + ")";
        entries.emplace_back("-- " + label, 3 + columns_of(label));
    }
    std::string out;
    int column = 0;
    for (const auto& [text, columns] : entries) {
        if (column > 0 && margin + column + 3 + columns > screen.width) {
            out += "\n";
            column = 0;
        }
        out += column == 0 ? std::string(margin, ' ') : std::string("   ");
        column += columns + (column == 0 ? 0 : 3);
        out += text;
    }
    return out.empty() ? out : out + "\n";
}

// The line below the canvas with a mark at each tick, the numbers below the marks, and the label.
std::string x_axis(const Picture& picture, const Curves& curves, const Canvas& canvas, const Range& x, int columns) {
    std::vector<bool> marked(columns);
    std::string numbers;
    std::vector<Tick> ticks;
    for (std::size_t i = 0; i < curves.x_names.size(); ++i)
        ticks.push_back({static_cast<double>(i), curves.x_names[i]});
    if (curves.log_x)
        for (const double value : measured_x(curves))
            if (value > 0) ticks.push_back({std::log10(value), axis_text(value)});
    if (ticks.empty()) ticks = ticks_of(x, curves.log_x, 6);
    for (const Tick& tick : ticks) {
        const int at = canvas.column_of(tick.at);
        const int begin = std::min(margin + at - columns_of(tick.text) / 2, margin + columns - columns_of(tick.text));
        marked[at] = true;
        if (!numbers.empty() && begin <= static_cast<int>(numbers.size())) continue; // would touch the number before
        numbers.resize(begin, ' ');
        numbers += tick.text;
    }
    std::string line = std::string(margin - 1, ' ') + "└";
    for (const bool mark : marked) line += mark ? "┬" : "─";
    const std::string label = picture.x_label + (curves.log_x ? ", logarithmic" : "");
    const int before = std::max(0, (columns - columns_of(label)) / 2);
    return line + "\n" + numbers + "\n" + std::string(margin + before, ' ') + label + "\n";
}

// The text to the left of each line.
std::vector<std::string> y_axis(const Curves& curves, const Canvas& canvas, const Range& y, int lines) {
    std::vector<std::string> labels(lines);
    for (const Tick& tick : ticks_of(y, curves.log_y, 5)) labels[canvas.row_of(tick.at)] = tick.text;
    for (std::string& label : labels) label = fitted(label, margin - 2, true) + (label.empty() ? " │" : " ┤");
    return labels;
}

// Of names that are too many for a screen, the hidden rows: first those with settings or of combinations, then the
// others, from the middle outwards.
std::vector<bool> hidden_rows(const std::vector<std::string>& names, std::size_t room) {
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t row) {
        const std::size_t from_end = names.size() - 1 - row;
        return std::pair(names[row].find_first_of(":+(") == std::string::npos, std::max(row, from_end));
    });
    std::vector<bool> hidden(names.size());
    for (std::size_t i = 0; i + room < names.size(); ++i) hidden[order[i]] = true;
    return hidden;
}

// A row for each name: its values along a line, with their intervals.
std::string rows_of(const Picture& picture, const Curves& curves, const Range& range, const Inks& inks,
                    const Screen& screen) {
    int names = 0;
    for (const std::string& name : curves.x_names) names = std::max(names, columns_of(name));
    names = std::min(names, screen.width / 3);
    const int columns = std::min(screen.width - names - 12, 90);
    const auto column = [&](double y) { return static_cast<int>(std::lround(range.share(y) * (columns - 1))); };
    const std::vector<bool> hidden = hidden_rows(curves.x_names, screen.rows);
    std::string out;
    for (std::size_t row = 0; row < curves.x_names.size(); ++row) {
        if (hidden[row]) continue;
        std::vector<std::string> cells(columns, " ");
        std::string value;
        for (const Reference& reference : curves.references) cells[column(curves.on_y(reference.y))] = "┊";
        for (std::size_t s = 0; s < curves.series.size(); ++s) {
            const Series& series = curves.series[s];
            for (std::size_t i = 0; i < series.x.size(); ++i) {
                const double y = curves.on_y(series.y[i]);
                if (std::lround(series.x[i]) != static_cast<long>(row) || !std::isfinite(y)) continue;
                if (i < series.low.size() && std::isfinite(series.low[i]) && std::isfinite(series.high[i]))
                    for (int c = column(curves.on_y(series.low[i])); c <= column(curves.on_y(series.high[i])); ++c)
                        cells[c] = inks.colored("─", static_cast<int>(s));
                cells[column(y)] =
                    inks.colored(inks.letters() ? letter(static_cast<int>(s)) : "●", static_cast<int>(s));
                if (value.empty()) value = axis_text(series.y[i]);
            }
        }
        out += fitted(curves.x_names[row], names) + " │";
        for (const std::string& cell : cells) out += cell;
        out += " " + value + "\n";
    }
    if (const auto more = std::ranges::count(hidden, true)) out += std::to_string(more) + " more rows: --all\n";
    const std::string low = axis_text(curves.log_y ? std::pow(10, range.low) : range.low),
                      high = axis_text(curves.log_y ? std::pow(10, range.high) : range.high), left(names + 2, ' ');
    return out + left + low + std::string(std::max(1, columns - columns_of(low + high)), ' ') + high + "\n" + left +
           wrapped(picture.y_label + (curves.log_y ? ", logarithmic" : ""), screen.width, names + 2) + "\n" +
           legend(curves, inks, screen, "─ ");
}

} // namespace

bool of_names(const Curves& curves) {
    return !curves.x_names.empty() && std::ranges::all_of(curves.series, [](const Series& series) {
        return series.style == Series::Style::points;
    });
}

std::string draw(const Picture& picture, const Curves& curves, const Screen& screen) {
    const Axes axes = axes_of(curves);
    const Inks inks(curves, screen);
    if (of_names(curves)) return rows_of(picture, curves, axes.y, inks, screen);
    const int lines = screen.lines, columns = std::min(screen.width - margin - 1, curves.square ? 2 * lines : 120);
    Canvas canvas(columns, lines, axes);
    for (const Reference& reference : curves.references) canvas.across(curves.on_y(reference.y));
    for (std::size_t i = 0; i < curves.series.size(); ++i)
        draw_intervals(canvas, curves, curves.series[i], static_cast<int>(i));
    for (std::size_t i = 0; i < curves.series.size(); ++i)
        draw_series(canvas, curves, curves.series[i], static_cast<int>(i));
    std::string out = picture.y_label + (curves.log_y ? ", logarithmic" : "") + "\n";
    const std::vector<std::string> labels = y_axis(curves, canvas, axes.y, lines);
    for (int row = 0; row < lines; ++row) {
        std::string line = labels[row];
        for (int column = 0; column < columns; ++column) line += inks.cell(canvas.at(row, column));
        out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return out + x_axis(picture, curves, canvas, axes.x, columns) + legend(curves, inks, screen);
}

} // namespace ordo::lab
