// SPDX-License-Identifier: MIT
#include "tools/lab/drawing/svg.h"

#include "tools/lab/drawing/svg_parts.h"

namespace ordo::lab {
namespace {

using namespace svg;

constexpr std::size_t most_named_points = 24; // above this number, overlapping names are left out

// ---- Maps -------------------------------------------------------------------------------------

class MapPlot {
public:
    MapPlot(const Picture& picture, const HeatMap& map)
        : map_(map), range_(value_range(map)), frame_{picture.x_label, picture.y_label} {
        if (!(range_.high > range_.low)) range_ = {range_.low - 0.5, range_.high + 0.5}; // a map of one value
        const auto rows = static_cast<double>(map.values.size()), columns = static_cast<double>(map.values[0].size());
        frame_.x.ticks = map.x_names.empty() ? ticks_of_cells(0, columns) : ticks_of_names(map.x_names);
        frame_.y.ticks = map.y_names.empty() ? ticks_of_cells(map.first_y, rows) : ticks_of_names(map.y_names);
        if (has_blank(map) && !map.blank.empty()) frame_.remark = "blank: " + map.blank;
        frame_.place(150, map.square);
        if (map.square) frame_.make_square(columns, rows);
        frame_.x.range = {-0.5, columns - 0.5}, frame_.y.range = {rows - 0.5, -0.5};
    }
    const Frame& frame() const { return frame_; }
    std::string drawn() const { return cells() + numbers() + frame_.drawn(false) + scale(); }

private:
    // Some whole numbers of the rows or columns, from `first`.
    static std::vector<Tick> ticks_of_cells(double first, double count) {
        std::vector<Tick> ticks = ticks_of({first, first + std::max(1.0, count - 1)}, false, 12);
        std::erase_if(ticks, [&](const Tick& t) { return t.at != std::round(t.at) || t.at > first + count - 1; });
        for (Tick& tick : ticks) tick.at -= first;
        return ticks;
    }

    // Each colour is one path of strokes as wide as a row.
    std::string cells() const {
        constexpr int levels = 100;
        std::vector<std::string> paths(levels + 1);
        for (std::size_t r = 0; r < map_.values.size(); ++r) {
            const std::vector<double>& row = map_.values[r];
            const auto level = [&](std::size_t c) {
                return std::isfinite(row[c]) ? static_cast<int>(std::lround(levels * range_.share(row[c]))) : -1;
            };
            for (std::size_t c = 0, end = 0; c < row.size(); c = end) {
                for (end = c + 1; end < row.size() && level(end) == level(c);) ++end;
                if (level(c) >= 0)
                    paths[level(c)] +=
                        joined("M", std::to_string(c), " ", std::to_string(r), "h", std::to_string(end - c));
            }
        }
        std::string out =
            joined("<g fill=\"none\" shape-rendering=\"crispEdges\" transform=\"translate(", px(frame_.x.from), " ",
                   fixed_text(frame_.y.at(0), 3), ") scale(", fixed_text(frame_.x.at(1) - frame_.x.at(0), 4), " ",
                   fixed_text(frame_.y.at(1) - frame_.y.at(0), 4), ")\">\n");
        for (int level = 0; level <= levels; ++level)
            if (!paths[level].empty())
                out +=
                    path(paths[level], "stroke=\"" + color_text(color_at(map_.diverging, 1.0 * level / levels)) + "\"");
        return out + "</g>\n";
    }

    // The numbers of a map with few cells, in black or white for contrast with the cell's colour.
    std::string numbers() const {
        constexpr std::size_t most_columns = 20, most_rows = 24;
        const std::size_t columns = map_.values[0].size();
        if (columns > most_columns || map_.values.size() > most_rows) return {};
        const double size = std::max(std::abs(range_.low), std::abs(range_.high));
        const bool fixed = map_.shares || columns > 12;
        const int places = map_.shares ? 2 : std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 1, 4);
        std::string out;
        for (std::size_t r = 0; r < map_.values.size(); ++r)
            for (std::size_t c = 0; c < columns; ++c) {
                const double value = map_.values[r][c], share = range_.share(value);
                if (!std::isfinite(value)) continue;
                const bool deep = map_.diverging ? std::abs(share - 0.5) > 0.32 : share < 0.55;
                const double near_0 = std::abs(value) < 0.5 * std::pow(10, -places) ? 0 : value; // no "-0.0"
                out += written(frame_.x.at(static_cast<double>(c)), frame_.y.at(static_cast<double>(r)),
                               fixed ? fixed_text(near_0, places) : rounded_text(value, 3),
                               {.size = columns <= 12 ? 12.0 : 9.0, .color = deep ? "#ffffff" : "#000000"});
            }
        return out;
    }

    std::string scale() const {
        constexpr int steps = 64;
        const Axis bar{range_, frame_.y.from, frame_.y.to, ticks_of(range_, false, 6)};
        const double left = frame_.x.to + 22, step = (bar.from - bar.to) / steps;
        std::string out;
        for (int i = 0; i < steps; ++i)
            out += rectangle(left, bar.from - (i + 1) * step, 18, step + 1,
                             "fill=\"" + color_text(color_at(map_.diverging, (i + 0.5) / steps)) + "\"");
        for (const Tick& tick : bar.ticks)
            out += line(left + 18, bar.at(tick.at), left + 23, bar.at(tick.at), dark) +
                   written(left + 27, bar.at(tick.at), tick.text, {small, "start"});
        return out + written(left + 44 + breadth(bar.ticks), (bar.from + bar.to) / 2, map_.value_label, {.turn = -90});
    }

    const HeatMap& map_;
    Range range_;
    Frame frame_;
};

// ---- Curves -----------------------------------------------------------------------------------

using Style = Series::Style;

class CurvePlot {
public:
    CurvePlot(const Picture& picture, const Curves& curves)
        : curves_(curves), looks_(looks_of(curves)), frame_{picture.x_label, picture.y_label} {
        auto [x, y] = axes_of(curves);
        const auto pad = [](Range& range, double by) { range = {range.low - by, range.high + by}; };
        const auto marked = [](const Series& series) { return series.style != Style::line; };
        pad(y, 0.04 * (y.high - y.low));
        pad(x, !curves.x_names.empty()                      ? 0.5
               : std::ranges::any_of(curves.series, marked) ? 0.02 * (x.high - x.low) // else they would be cut in half
                                                            : 0);
        frame_.x.ticks = x_ticks(x), frame_.y.ticks = ticks_of(y, curves.log_y, rows_ ? 4 : 6);
        if (rows_) std::swap(frame_.x, frame_.y), std::swap(frame_.x_label, frame_.y_label);
        if (!curves.square) frame_.width = 480; // legible on a phone
        make_key();
        double column = 1; // the width of a column of the key
        for (const auto& [label, sample] : key_) column = std::max(column, 62 + breadth(label));
        key_columns_ = std::max<std::size_t>(1, static_cast<std::size_t>((frame_.width - 30) / column));
        const double rows = std::ceil(static_cast<double>(key_.size()) / static_cast<double>(key_columns_));
        frame_.key = rows == 0 ? 0 : key_step * rows + 8;
        const auto named = [](const Series& series) { return !series.names.empty(); };
        frame_.place(30, curves.square && std::ranges::any_of(curves.series, named)); // names need height
        if (curves.square) frame_.make_square(1, 1);
        frame_.x.range = rows_ ? y : x, frame_.y.range = rows_ ? Range{x.high, x.low} : y;
    }
    const Frame& frame() const { return frame_; }
    std::string drawn() const {
        std::string out = frame_.drawn(true);
        for (std::size_t i = 0; i < looks_.size(); ++i) out += intervals(curves_.series[i], looks_[i]);
        for (std::size_t i = 0; i < curves_.references.size(); ++i)
            if (const double at = at_y(curves_.references[i].y); std::isfinite(at))
                out += rows_ ? line(at, frame_.y.from, at, frame_.y.to, stroke(grey(i)))
                             : line(frame_.x.from, at, frame_.x.to, at, stroke(grey(i)));
        for (std::size_t i = 0; i < looks_.size(); ++i) out += series(curves_.series[i], looks_[i]);
        return out + names() + key();
    }

private:
    static Look grey(std::size_t reference) { return {{0x88, 0x88, 0x88}, 0, 1 + static_cast<int>(reference)}; }
    // On the axes of x and y, which change places if names are rows.
    double at_x(double x) const { return (rows_ ? frame_.y : frame_.x).at(curves_.on_x(x)); }
    double at_y(double y) const { return (rows_ ? frame_.x : frame_.y).at(curves_.on_y(y)); }

    // On a logarithmic axis, each of a few measured values with enough space before the next.
    std::vector<Tick> x_ticks(const Range& range) const {
        if (!curves_.x_names.empty()) return ticks_of_names(curves_.x_names);
        std::vector<Tick> ticks;
        const std::vector<double> measured = curves_.log_x ? measured_x(curves_) : std::vector<double>{};
        for (auto x = measured.rbegin(); x != measured.rend(); ++x)
            if (const double at = std::log10(*x);
                *x > 0 && (ticks.empty() || ticks.back().at - at > 0.1 * (range.high - range.low)))
                ticks.push_back({at, axis_text(*x)});
        return ticks.empty() ? ticks_of(range, curves_.log_x, 7) : ticks;
    }

    // Each label with a sample, at the origin, of 30 pixels. A point above its own name needs none.
    void make_key() {
        const auto named_by_axis = [&](const Series& one) {
            if (one.x.size() != 1 || !(one.x[0] >= 0)) return false;
            const auto place = static_cast<std::size_t>(one.x[0]);
            return place < curves_.x_names.size() && curves_.x_names[place] == one.label;
        };
        if (looks_.size() < 2 && curves_.references.empty() && curves_.interval.empty()) return;
        for (std::size_t i = 0; i < looks_.size() && key_.empty(); ++i)
            if (const Series& one = curves_.series[i]; !one.low.empty())
                key_.emplace_back(curves_.interval, one.style == Style::points
                                                        ? rows_ ? line(5, 0, 25, 0, stroke(looks_[i]))
                                                                : line(15, -7, 15, 7, stroke(looks_[i]))
                                                        : rectangle(0, -6, 30, 12, band(looks_[i])));
        for (std::size_t i = 0; i < looks_.size(); ++i)
            if (const Series& one = curves_.series[i]; !one.label.empty() && !named_by_axis(one)) {
                const bool points = one.style == Style::points;
                key_.emplace_back(one.label,
                                  (points ? "" : line(0, 0, 30, 0, stroke(looks_[i]))) +
                                      (points || one.style == Style::line_points ? mark(15, 0, looks_[i], 4.5) : ""));
            }
        for (std::size_t i = 0; i < curves_.references.size(); ++i)
            key_.emplace_back(curves_.references[i].label, line(0, 0, 30, 0, stroke(grey(i))));
    }
    // Under the plot, in columns from left to right.
    std::string key() const {
        std::string out;
        const double column = (frame_.width - 30) / static_cast<double>(key_columns_);
        for (std::size_t i = 0; i < key_.size(); ++i)
            out += joined("<g transform=\"translate(", px(20 + column * static_cast<double>(i % key_columns_)), " ",
                          px(frame_.height - frame_.key + key_step * static_cast<double>(i / key_columns_) + 8), ")\">",
                          key_[i].second, written(38, 0, key_[i].first, {small, "start"}), "</g>\n");
        return out;
    }

    // A band, or a stroke for separate values.
    std::string intervals(const Series& one, const Look& look) const {
        std::string out, there, back;
        for (std::size_t i = 0; i <= one.low.size(); ++i) {
            const bool end = i == one.low.size();
            const double x = end ? NAN : at_x(one.x[i]), low = end ? NAN : at_y(one.low[i]),
                         high = end ? NAN : at_y(one.high[i]);
            if (!std::isfinite(x + low + high)) {
                if (!there.empty()) out += path("M" + there.substr(1) + back + "z", band(look));
                there.clear(), back.clear();
            } else if (one.style == Style::points) {
                out += rows_ ? line(low, x, high, x, stroke({look.color, 0, 0}))
                             : line(x, low, x, high, stroke({look.color, 0, 0}));
            } else {
                there += joined("L", px(x), " ", px(high));
                back.insert(0, joined("L", px(x), " ", px(low)));
            }
        }
        return out;
    }

    std::string series(const Series& one, const Look& look) const {
        std::string d, marks;
        bool gap = true; // before the point
        for (std::size_t i = 0; i < one.x.size(); ++i) {
            const double x = at_x(one.x[i]), y = at_y(one.y[i]);
            const std::string at = joined(px(x), " ", px(y));
            if (!std::isfinite(x + y)) {
                gap = true;
                continue;
            }
            if (one.style == Style::arrows) {
                const double back = std::atan2(at_y(0) - y, at_x(0) - x);
                d += joined("M", px(at_x(0)), " ", px(at_y(0)), "L", at);
                for (const double side : {0.35, -0.35})
                    d += joined("L", px(x + 12 * std::cos(back + side)), " ", px(y + 12 * std::sin(back + side)), "L",
                                at);
                continue;
            }
            if (one.style == Style::points || one.style == Style::line_points)
                marks += mark(rows_ ? y : x, rows_ ? x : y, look, one.names.empty() ? 4.5 : 3);
            d += gap ? "M" + at : one.style == Style::steps ? joined("H", px(x), "V", px(y)) : "L" + at;
            gap = false;
        }
        return one.style == Style::points || d.empty() ? marks : path(d, stroke(look)) + marks;
    }

    // Names next to their points. Of many names, each has the first free place to the right, to the left, above or
    // below. A name without a free place is left out.
    std::string names() const {
        struct Box { // by its centre
            double x, y, half_width, half_height;
            bool meets(const Box& other) const {
                return std::abs(x - other.x) < half_width + other.half_width &&
                       std::abs(y - other.y) < half_height + other.half_height;
            }
        };
        std::vector<Box> taken;
        for (const Series& one : curves_.series)
            for (std::size_t k = 0; k < one.names.size(); ++k) taken.push_back({at_x(one.x[k]), at_y(one.y[k]), 3, 3});
        const bool many = taken.size() > most_named_points;
        std::string out;
        for (std::size_t i = 0; i < looks_.size(); ++i)
            for (std::size_t k = 0; k < curves_.series[i].names.size(); ++k) {
                const Series& one = curves_.series[i];
                const double half = breadth(one.names[k]) / 2 + 1;
                for (const auto& [dx, dy] : {std::pair{half + 6, 0.0}, {-half - 6, 0.0}, {0.0, -11.0}, {0.0, 11.0}}) {
                    const Box box{at_x(one.x[k]) + dx, at_y(one.y[k]) + dy, half, 6};
                    if (many && std::ranges::any_of(taken, [&](const Box& other) { return other.meets(box); }))
                        continue;
                    taken.push_back(box);
                    out += written(box.x, box.y, one.names[k], {.size = small, .color = color_text(looks_[i].color)});
                    break;
                }
            }
        return out;
    }

    const Curves& curves_;
    std::vector<Look> looks_;
    // Many names have a row each, as in a terminal.
    const bool rows_ = curves_.x_names.size() > 12 &&
                       std::ranges::all_of(curves_.series, [](const Series& s) { return s.style == Style::points; });
    static constexpr double key_step = 20;
    std::vector<std::pair<std::string, std::string>> key_;
    std::size_t key_columns_ = 1;
    Frame frame_;
};

// The colours of paper, letters, axes, the grid and grey lines in a dark theme. White numbers in maps stay white.
constexpr std::string_view dark_theme = R"(@media (prefers-color-scheme: dark) {
svg :is(rect, path)[fill="#ffffff"] { fill: #16181b }
svg [fill="#222222"] { fill: #dddddd }
svg [stroke="#444444"], svg [stroke="#555555"] { stroke: #aaaaaa }
svg [stroke="#dddddd"] { stroke: #3a3d42 }
svg [fill="#555555"] { fill: #aaaaaa }
})";

std::string whole(const Picture& picture, const auto& plot) {
    const Frame& frame = plot.frame();
    return joined("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", px(frame.width), "\" viewBox=\"0 0 ",
                  px(frame.width), " ", px(frame.height), "\" font-family=\"sans-serif\" role=\"img\">\n<title>",
                  escaped_html(axes_text(picture)), "</title>\n<style>", dark_theme, "</style>\n",
                  rectangle(0, 0, frame.width, frame.height, "fill=\"#ffffff\""), plot.drawn(), "</svg>\n");
}

} // namespace

std::string svg_of(const Picture& picture) {
    if (const auto* map = std::get_if<HeatMap>(&picture.content)) return whole(picture, MapPlot(picture, *map));
    return whole(picture, CurvePlot(picture, std::get<Curves>(picture.content)));
}

} // namespace ordo::lab
