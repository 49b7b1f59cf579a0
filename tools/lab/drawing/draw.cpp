// SPDX-License-Identifier: MIT
#include "tools/lab/drawing/draw.h"

#include "core/utf8.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ordo::lab {
namespace {

void widen(Range& range, double value) {
    if (!std::isfinite(value)) return;
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
}

// An axis needs a length, large enough to tell its numbers apart.
Range closed(Range range) {
    if (range.low > range.high) return {0, 1};
    const double size = std::max(std::abs(range.low), std::abs(range.high)), least = 1e-9 * size;
    if (range.high - range.low > least) return range;
    const double half = std::max(0.5, least);
    return {range.low - half, range.high + half};
}

} // namespace

Range value_range(const HeatMap& map) {
    if (map.shares) return {0, 1};
    if (map.scale) return {map.scale->first, map.scale->second};
    Range range{HUGE_VAL, -HUGE_VAL};
    for (const auto& row : map.values)
        for (const double value : row) widen(range, value);
    if (range.low > range.high) return {0, 1};
    if (!map.diverging) return range;
    const double most = std::max(std::abs(range.low), std::abs(range.high));
    return {-most, most};
}

bool has_blank(const HeatMap& map) {
    for (const auto& row : map.values)
        for (const double value : row)
            if (!std::isfinite(value)) return true;
    return false;
}

Axes axes_of(const Curves& curves) {
    Range x{HUGE_VAL, -HUGE_VAL}, y = x;
    const auto put = [&](double px, double py) { widen(x, curves.on_x(px)), widen(y, curves.on_y(py)); };
    for (const Series& series : curves.series) {
        for (std::size_t i = 0; i < series.x.size(); ++i) {
            put(series.x[i], series.y[i]);
            if (series.low.empty()) continue;
            put(series.x[i], series.low[i]);
            put(series.x[i], series.high[i]);
        }
        if (series.style == Series::Style::arrows) put(0, 0);
    }
    for (std::size_t i = 0; i < curves.x_names.size(); ++i) widen(x, static_cast<double>(i));
    for (const Reference& reference : curves.references) widen(y, curves.on_y(reference.y));
    x = closed(x), y = closed(y);
    if (!curves.square) return {x, y};
    const double half = std::max(x.high - x.low, y.high - y.low) / 2;
    const double middle_x = (x.low + x.high) / 2, middle_y = (y.low + y.high) / 2;
    return {{middle_x - half, middle_x + half}, {middle_y - half, middle_y + half}};
}

std::string axis_text(double value) {
    if (!std::isfinite(value)) return tools::number_text(value);
    if (value == 0) return "0";
    char buffer[32];
    const double size = std::abs(value);
    const char* format = size >= 1e6 || size < 1e-4 ? "%.2e" : size >= 1000 ? "%.0f" : "%.3g";
    return {buffer, static_cast<std::size_t>(std::snprintf(buffer, sizeof buffer, format, value))};
}

std::vector<Tick> ticks_of(const Range& range, bool log, int count) {
    std::vector<Tick> ticks;
    const double span = range.high - range.low, slack = 1e-9 * span;
    double step = log ? std::max(1.0, std::ceil(span / count)) : std::pow(10, std::floor(std::log10(span / count)));
    if (!log)
        for (const double factor : {1.0, 2.0, 5.0, 10.0})
            if (span / (step * factor) <= count) {
                step *= factor;
                break;
            }
    for (double i = std::ceil((range.low - slack) / step); i * step <= range.high + slack; ++i)
        ticks.push_back({i * step, axis_text(log ? std::pow(10, i * step) : i == 0 ? 0 : i * step)});
    if (!log || ticks.size() > 2) return ticks;
    ticks.clear(); // hardly a power of ten: 1, 2 and 5 of each, or if these are few, numbers in even steps
    for (double power = std::floor(range.low); power <= range.high; ++power)
        for (const double factor : {1.0, 2.0, 5.0}) {
            const double at = power + std::log10(factor);
            if (at >= range.low - slack && at <= range.high + slack) ticks.push_back({at, axis_text(std::pow(10, at))});
        }
    if (ticks.size() > 2) return ticks;
    ticks = ticks_of({std::pow(10, range.low), std::pow(10, range.high)}, false, count);
    for (Tick& tick : ticks) tick.at = std::log10(tick.at);
    return ticks;
}

std::vector<double> measured_x(const Curves& curves) {
    constexpr std::size_t most = 10;
    std::set<double> values;
    for (const Series& series : curves.series)
        for (const double x : series.x)
            if (std::isfinite(x) && values.insert(x).second && values.size() > most) return {};
    return {values.begin(), values.end()};
}

int columns_of(std::string_view text) {
    return static_cast<int>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string fitted(const std::string& text, int columns, bool right) {
    const int have = columns_of(text);
    if (have <= columns) {
        const std::string pad(columns - have, ' ');
        return right ? pad + text : text + pad;
    }
    std::size_t at = 0;
    for (int i = 0; i < columns; ++i) at += std::max<std::size_t>(1, utf8_length(std::string_view(text).substr(at)));
    return text.substr(0, at);
}

std::string wrapped(std::string_view text, int width, int indent) {
    std::string out;
    int column = indent;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const int columns = columns_of(text.substr(at, end - at));
        if (column > indent && column + 1 + columns > width) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            out += ' ';
            ++column;
        }
        out += text.substr(at, end - at);
        column += columns;
        at = end + 1;
    }
    return out;
}

std::string color_code(Color color, const Screen& screen) {
    const auto text = [](int value) { return std::to_string(value); };
    if (screen.true_color) return "2;" + text(color.red) + ";" + text(color.green) + ";" + text(color.blue);
    // The nearest of the 6 x 6 x 6 colours that every terminal with 256 colours has.
    const auto level = [](std::uint8_t value) { return value < 48 ? 0 : value < 115 ? 1 : (value - 35) / 40; };
    return "5;" + text(16 + 36 * level(color.red) + 6 * level(color.green) + level(color.blue));
}

std::string color_code(bool diverging, double share, const Screen& screen) {
    if (screen.true_color) return color_code(color_at(diverging, share), screen);
    return "5;" + std::to_string(code_at(diverging, share));
}

std::string foreground(const std::string& code, const Screen& screen) {
    return screen.color ? "\033[38;" + code + "m" : "";
}

std::string background(const std::string& code, const Screen& screen) {
    return screen.color ? "\033[48;" + code + "m" : "";
}

std::string draw(const Picture& picture, const Screen& screen) {
    return wrapped(picture.title, screen.width, 0) + "\n\n" +
           std::visit([&](const auto& content) { return draw(picture, content, screen); }, picture.content);
}

} // namespace ordo::lab
