// SPDX-License-Identifier: MIT
// A heat map in characters. With colour, each character shows two values, as the upper and lower half of a block.
#include "tools/lab/drawing/draw.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ordo::lab {
namespace {

constexpr std::array<std::string_view, 5> shades{"·", "░", "▒", "▓", "█"};

using Values = std::vector<std::vector<double>>;

std::string name_of(const std::vector<std::string>& names, int first, std::size_t i) {
    return names.empty() ? std::to_string(first + static_cast<int>(i)) : names[i];
}

// Keeps every rows-th row and every cols-th column. Means would turn alternating sines and cosines into one grey.
Values sampled(const Values& values, std::size_t rows, std::size_t cols) {
    Values out;
    for (std::size_t r = 0; r < values.size(); r += rows) {
        auto& line = out.emplace_back();
        for (std::size_t c = 0; c < values[0].size(); c += cols) line.push_back(values[r][c]);
    }
    return out;
}

// The step between shown cells, so that count cells fit into room.
std::size_t stride_of(std::size_t count, std::size_t room) {
    return (count + room - 1) / room;
}

class MapDrawing {
public:
    MapDrawing(const Picture& picture, const HeatMap& map, const Screen& screen)
        : picture_(picture), map_(map), screen_(screen), range_(value_range(map)) {
        margin_ = columns_of(picture.y_label);
        for (std::size_t i = 0; i < map.values.size(); ++i)
            margin_ = std::max(margin_, columns_of(name_of(map.y_names, map.first_y, i)));
        margin_ = std::min(margin_, screen.width / 3);
    }

    std::string text() {
        const int cell = number_width();
        return (fits(cell) ? numbers(cell) : blocks()) + legend() +
               (has_blank(map_) && !map_.blank.empty() ? below("blank: " + map_.blank) : "");
    }

private:
    int room() const { return screen_.width - margin_ - 1; }
    std::size_t cols() const { return map_.values[0].size(); }

    // The columns of a cell's number and the space before it.
    int number_width() const {
        int width = 5;
        for (std::size_t c = 0; c < map_.x_names.size(); ++c) width = std::max(width, columns_of(map_.x_names[c]) + 1);
        for (const auto& row : map_.values)
            for (const double value : row) width = std::max(width, columns_of(cell_text(value)) + 1);
        return width;
    }
    bool fits(int cell) const { return map_.values.size() <= 24 && static_cast<int>(cols()) * cell <= room(); }
    static std::string cell_text(double value) {
        return std::isnan(value) ? "" : std::abs(value) < 1000 ? tools::fixed_text(value, 3) : axis_text(value);
    }
    std::string line_label(const std::string& name) const { return fitted(name, margin_, true) + " "; }
    // One or more lines under the map.
    std::string below(const std::string& text) const {
        return line_label("") + wrapped(text, screen_.width, margin_ + 1) + "\n";
    }
    std::string code_of(double value) const { return color_code(map_.diverging, range_.share(value), screen_); }

    std::string numbers(int cell) const {
        std::string out = line_label(picture_.y_label);
        for (std::size_t c = 0; c < cols(); ++c) out += fitted(name_of(map_.x_names, 0, c), cell, true);
        if (columns_of(out) + 2 + columns_of(picture_.x_label) <= screen_.width)
            out += "  " + picture_.x_label + "\n";
        else
            out = below(picture_.x_label) + out + "\n";
        for (std::size_t r = 0; r < map_.values.size(); ++r) {
            out += line_label(name_of(map_.y_names, map_.first_y, r));
            for (const double value : map_.values[r]) {
                const std::string text = fitted(cell_text(value), cell, true);
                if (!screen_.color || !std::isfinite(value)) {
                    out += text;
                    continue;
                }
                const Color color = color_at(map_.diverging, range_.share(value));
                const bool dark = 299 * color.red + 587 * color.green + 114 * color.blue < 128'000;
                const std::string ink = color_code(dark ? Color{255, 255, 255} : Color{0, 0, 0}, screen_);
                out += background(code_of(value), screen_) + foreground(ink, screen_) + text + std::string(reset);
            }
            out += "\n";
        }
        return out;
    }

    std::string blocks() {
        const int wide = room(), per_line = screen_.color ? 2 : 1;
        // An odd step between columns: even and odd columns alternate, as they do in the map.
        const std::size_t fewest = stride_of(cols(), static_cast<std::size_t>(wide));
        const std::size_t by_cols = fewest > 1 ? fewest | 1 : 1;
        const std::size_t by_rows = stride_of(map_.values.size(), screen_.rows);
        const Values values = sampled(map_.values, by_rows, by_cols);
        const int repeat = std::max(1, std::min(wide / static_cast<int>(values[0].size()), 8));
        std::string out = line_label(picture_.y_label) + "\n";
        for (std::size_t r = 0; r < values.size(); r += static_cast<std::size_t>(per_line)) {
            out += line_label(name_of(map_.y_names, map_.first_y, r * by_rows));
            std::string colors; // the current colours
            for (std::size_t c = 0; c < values[0].size(); ++c) {
                const double lower = r + 1 < values.size() ? values[r + 1][c] : NAN;
                out += screen_.color ? halves(values[r][c], lower, repeat, colors) : shade(values[r][c], repeat);
            }
            if (!colors.empty()) out += reset;
            out.erase(out.find_last_not_of(' ') + 1);
            out += "\n";
        }
        out += x_axis(static_cast<int>(values[0].size()) * repeat, (values[0].size() - 1) * by_cols);
        std::string shown =
            by_rows > 1 ? "rows " + sequence(map_.y_names, map_.first_y, by_rows, map_.values.size()) : "";
        if (by_rows > 1 && by_cols > 1) shown += "; ";
        if (by_cols > 1) shown += "columns " + sequence(map_.x_names, 0, by_cols, cols());
        if (!shown.empty()) out += below("shown are " + shown);
        return out;
    }
    // "0, 9, 18, ..."
    static std::string sequence(const std::vector<std::string>& names, int first, std::size_t stride,
                                std::size_t count) {
        std::string out;
        if (std::find(names.begin(), names.end(), "") != names.end()) return "one in " + std::to_string(stride);
        for (std::size_t i = 0; i < std::min(count, 3 * stride); i += stride) out += name_of(names, first, i) + ", ";
        return out + "...";
    }
    std::string shade(double value, int repeat) const {
        if (!std::isfinite(value)) return std::string(repeat, ' ');
        const auto level = static_cast<std::size_t>(std::clamp(range_.share(value) * 5, 0.0, 4.0));
        std::string out;
        for (int i = 0; i < repeat; ++i) out += shades[level];
        return out;
    }
    // colors: the escape sequence in force, updated by the call.
    std::string halves(double above, double lower, int repeat, std::string& colors) const {
        const bool up = std::isfinite(above), down = std::isfinite(lower);
        std::string wanted;
        if (up || down) wanted = foreground(code_of(up ? above : lower), screen_);
        if (up && down) wanted += background(code_of(lower), screen_);
        std::string out;
        if (wanted != colors) out = std::string(colors.empty() ? "" : reset) + wanted;
        colors = wanted;
        for (int i = 0; i < repeat; ++i) out += up ? "▀" : down ? "▄" : " ";
        return out;
    }
    std::string x_axis(int width, std::size_t last_column) const {
        const std::string first = name_of(map_.x_names, 0, 0);
        const std::string last = name_of(map_.x_names, 0, last_column);
        const int middle = width - columns_of(first) - columns_of(last);
        std::string label = picture_.x_label;
        if (columns_of(label) + 2 <= middle)
            return line_label("") + first + fitted(std::string((middle - columns_of(label)) / 2, ' ') + label, middle) +
                   last + "\n";
        return line_label("") + first + fitted("", std::max(middle, 1)) + last + "\n" + below(label);
    }

    // The scale of colours, or the value of each shade.
    std::string legend() const {
        const std::string low = axis_text(range_.low), high = axis_text(range_.high);
        std::string out;
        int columns = 0;
        if (screen_.color) {
            const int scale = std::clamp(room() - columns_of(low) - columns_of(high) - 2, 2, 24);
            out = low + " ";
            for (int i = 0; i < scale; ++i)
                out += background(color_code(map_.diverging, i / (scale - 1.0), screen_), screen_) + " ";
            out += std::string(reset) + " " + high;
            columns = columns_of(low) + scale + 2 + columns_of(high);
        } else if (!fits(number_width())) {
            for (std::size_t i = 0; i < shades.size(); ++i)
                out += axis_text(range_.low + static_cast<double>(i) / 5 * (range_.high - range_.low)) + " " +
                       std::string(shades[i]) + " ";
            out += high;
            columns = columns_of(out);
        }
        if (columns == 0) return map_.value_label.empty() ? "" : below(map_.value_label);
        if (map_.value_label.empty()) return line_label("") + out + "\n";
        if (columns + 2 + columns_of(map_.value_label) <= room())
            return line_label("") + out + "  " + map_.value_label + "\n";
        return line_label("") + out + "\n" + below(map_.value_label);
    }

    const Picture& picture_;
    const HeatMap& map_;
    const Screen& screen_;
    Range range_;
    int margin_ = 0; // columns to the left of a line, without the space
};

} // namespace

std::string draw(const Picture& picture, const HeatMap& map, const Screen& screen) {
    return MapDrawing(picture, map, screen).text();
}

} // namespace ordo::lab
