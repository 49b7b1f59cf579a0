// SPDX-License-Identifier: MIT
// Scripts for gnuplot. Text is in double quotes, without markup. Octal codes replace every character with a special
// meaning: quotes, backslashes, macros, and backquotes, which run a command even in quotes.
#include "tools/lab/drawing/plot.h"

#include "core/number.h"
#include "tools/lab/drawing/draw.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {
namespace {

// In letters: the whole width, a line of the title, and a line below a picture.
constexpr std::size_t picture_columns = 120, title_columns = 90, row_columns = 90;
constexpr std::size_t most_named_points = 24; // above this number, overlapping names are left out

std::string literal(std::string_view text) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;=+-/()[]_#<>";
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < ' ')
            out += ' ';
        else if (byte >= 0x80 || plain.find(c) != plain.npos)
            out += c;
        else
            out += {'\\', static_cast<char>('0' + (byte >> 6)), static_cast<char>('0' + (byte >> 3 & 7)),
                    static_cast<char>('0' + (byte & 7))};
    }
    return out + "\"";
}

// The name of a tic. gnuplot prints it by printf's rules.
std::string tic_literal(std::string_view name) {
    std::string doubled;
    for (const char c : name) doubled.append(c == '%' ? 2 : 1, c);
    return literal(doubled);
}

// Text in a data block, where no quote can be escaped and a backslash would begin a code.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    return out + "\"";
}

// A title in lines. gnuplot breaks lines only at "\n" in double quotes. It centres the title above the plot, and a key
// of `key` columns to the right of the plot shifts it to the left.
std::string title_lines(const std::string& title, std::size_t key) {
    const std::size_t columns =
        std::clamp<std::size_t>(picture_columns - std::min(picture_columns, key), 40, title_columns);
    const std::string out = wrapped(title, static_cast<int>(columns), 0);
    std::string script;
    for (std::size_t at = 0; at <= out.size();) {
        const std::size_t end = std::min(out.find('\n', at), out.size());
        script += (script.empty() ? "" : ".\"\\n\".") + literal(std::string_view(out).substr(at, end - at));
        at = end + 1;
    }
    return script;
}

std::string color_text(Color color) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "#%02x%02x%02x", color.red, color.green, color.blue);
    return literal(buffer);
}

// A number that a plot can place; gnuplot skips all others.
std::string number(double value) {
    if (!std::isfinite(value)) return "NaN";
    return rounded_text(value, 9);
}

// Whether names below a picture would overlap.
bool are_crowded(const std::vector<std::string>& names) {
    std::size_t longest = 0, named = 0;
    for (const std::string& name : names) longest = std::max(longest, name.size()), named += !name.empty();
    return longest * named > row_columns;
}

std::string tics(const char* axis, const std::vector<std::string>& names) {
    std::string out = "set " + std::string(axis) + "tics (";
    std::size_t named = 0;
    for (std::size_t i = 0; i < names.size(); ++i)
        if (!names[i].empty()) // a mark needs a name
            out += (named++ > 0 ? ", " : "") + tic_literal(names[i]) + " " + std::to_string(i);
    return (*axis == 'x' && are_crowded(names) ? "set xtics rotate by 90 right\n" : "") + out + ")\n";
}

std::string palette(bool diverging) {
    const auto& colors = map_colors(diverging);
    std::string out = "set palette defined (";
    for (std::size_t i = 0; i < colors.size(); ++i)
        out += (i > 0 ? ", " : "") + std::to_string(i) + " " + color_text(colors[i]);
    return out + ")\n";
}

std::string map_script(const HeatMap& map) {
    const Range range = value_range(map);
    const std::size_t cols = map.values[0].size(), rows = map.values.size();
    std::string out = "$cells << END\n";
    for (const auto& row : map.values) {
        for (std::size_t c = 0; c < cols; ++c) out += (c > 0 ? " " : "") + number(row[c]);
        out += "\n";
    }
    const double pad = range.high > range.low ? 0 : 0.5; // for a map of one value
    out += "END\n" + palette(map.diverging) + "set cblabel " + literal(map.value_label) +
           " offset 1,0\nset rmargin 15\nset cbrange [" + number(range.low - pad) + ":" + number(range.high + pad) +
           "]\n";
    const double y = map.y_names.empty() ? map.first_y : 0;
    if (!map.x_names.empty()) out += tics("x", map.x_names);
    if (!map.y_names.empty()) out += tics("y", map.y_names);
    out += "set xrange [-0.5:" + number(cols - 0.5) + "]\nset yrange [" + number(y + rows - 0.5) + ":" +
           number(y - 0.5) + "]\n";
    if (cols <= 12 && map.x_names.empty()) out += "set xtics 1\n";
    if (rows <= 12 && map.y_names.empty()) out += "set ytics 1\n";
    if (map.square) out += "set size ratio -1\n";
    out += "set tics out nomirror\nset format x '%.0f'\nset format y '%.0f'\nset format cb '%g'\nunset key\n";
    return out;
}

// The numbers of a map with few cells, in black or white for contrast with the cell's colour.
std::string numbers_plot(const HeatMap& map, const std::string& at) {
    constexpr std::size_t most_columns = 20, most_rows = 24;
    if (map.values[0].size() > most_columns || map.values.size() > most_rows) return {};
    const Range range = value_range(map);
    // gnuplot 5.4 crashes on them.
    if (map.values.size() * map.values[0].size() < 2 || !(range.high > range.low)) return {};
    const std::string share = "(($3-" + number(range.low) + ")/" + number(range.high - range.low) + ")";
    const std::string dark = map.diverging ? "abs(" + share + "-0.5)>0.32" : share + "<0.55";
    const std::size_t columns = map.values[0].size();
    // The numbers fit their cells.
    const std::string font = columns <= 12 ? "',10'" : columns <= 16 ? "',8'" : "',7'";
    const double size = std::max(std::abs(range.low), std::abs(range.high));
    const int decimals = std::clamp(1 - static_cast<int>(std::floor(std::log10(size))), 1, 4);
    const int places = map.shares ? 2 : decimals;
    const bool fixed = map.shares || columns > 12;
    const std::string format = fixed ? "%." + std::to_string(places) + "f" : "%.3g";
    // Numbers that round to 0 have no sign.
    const std::string value = fixed ? "(abs($3)<" + number(0.5 * std::pow(10, -places)) + "?0:$3)" : "$3";
    std::string out;
    for (const auto& [ink, condition] : {std::pair{"white", dark}, std::pair{"black", "!(" + dark + ")"}})
        out += ", \\\n     $cells matrix using (" + condition + "?" + at + ":($3==$3?sprintf('" + format + "'," +
               value + "):'') with labels font " + font + " textcolor rgb '" + ink + "'";
    return out;
}

std::string map_plot(const HeatMap& map) {
    const std::string rows = "($2+" + number(map.y_names.empty() ? map.first_y : 0) + ")";
    return "plot $cells matrix using ($1+0):" + rows + ":3 with image" + numbers_plot(map, "$1+0:NaN):" + rows) + "\n";
}

// Whether a point is above its own name. A key would repeat the name, and twenty names would fill the picture.
bool named_by_axis(const Curves& curves, const Series& series) {
    if (series.x.size() != 1 || !(series.x[0] >= 0)) return false;
    const auto place = static_cast<std::size_t>(series.x[0]);
    return place < curves.x_names.size() && curves.x_names[place] == series.label;
}

// One series as a plot element that reads data block number i.
std::string element(const Curves& curves, const Series& series, const Look& look, std::size_t i) {
    const std::string data = "$series" + std::to_string(i);
    const std::string lines =
        " linecolor rgb " + color_text(look.color) + " dashtype " + std::to_string(look.dash) + " linewidth 2";
    const std::string mark = " pointtype " + std::to_string(look.mark) + " pointsize ";
    const bool untitled = series.label.empty() || named_by_axis(curves, series);
    const std::string title = untitled ? " notitle" : " title " + literal(series.label);
    switch (series.style) {
    case Series::Style::arrows:
        return data + " using (0):(0):($1-0):($2-0) with vectors filled head" + lines + title;
    case Series::Style::points:
        return data + " using 1:2 with points" + mark + (series.names.empty() ? "1" : "0.6") + lines + title;
    case Series::Style::line_points:
        return data + " using 1:2 with linespoints" + mark + "0.7" + lines + title;
    case Series::Style::steps:
        return data + " using 1:2 with steps" + lines + title;
    case Series::Style::line:
        break;
    }
    return data + " using 1:2 with lines" + lines + title;
}

// On a logarithmic axis gnuplot labels only powers of ten. This labels each of a few measured values, or the numbers
// between if there are fewer than about two powers.
std::string log_tics(const Curves& curves, const Axes& axes) {
    constexpr int few = 6;
    const auto set = [](const char* axis, const std::vector<std::string>& places) {
        std::string list;
        for (const std::string& place : places) list += (list.empty() ? "" : ", ") + place;
        return list.empty() ? "" : "set " + std::string(axis) + "tics (" + list + ")\n";
    };
    const auto round = [&](const Range& range) {
        std::vector<std::string> places;
        if (range.high - range.low < 2)
            for (const Tick& tick : ticks_of(range, true, few))
                places.push_back(literal(tick.text) + " " + number(std::pow(10, tick.at)));
        return places;
    };
    // From the right: each value with enough space before the last one.
    constexpr double clear = 0.07; // of the axis
    std::vector<std::string> measured;
    const std::vector<double> all = measured_x(curves);
    double last = HUGE_VAL;
    for (auto x = all.rbegin(); x != all.rend(); ++x)
        if (const double at = std::log10(*x); last - at > clear * (axes.x.high - axes.x.low)) {
            measured.insert(measured.begin(), number(*x));
            last = at;
        }
    return (curves.log_x ? set("x", measured.empty() ? round(axes.x) : measured) : "") +
           (curves.log_y ? set("y", round(axes.y)) : "");
}

// The places of names next to their points, in small letters. Of many names, each has the first free place to the
// right, to the left, above or below. A name without a free place is left out.
class Names {
public:
    explicit Names(const Curves& curves) : curves_(curves), axes_(axes_of(curves)) {
        std::size_t count = 0;
        for (const Series& series : curves.series) count += series.names.size();
        many_ = count > most_named_points;
        for (const Series& series : curves.series)
            for (std::size_t k = 0; k < series.names.size(); ++k)
                taken_.push_back({at_x(series.x[k]), at_y(series.y[k]), 3, 3});
    }

    // The data block of a series.
    std::string block(const Series& series, std::size_t i) {
        std::string out = "$names" + std::to_string(i) + " << END\n";
        for (std::size_t k = 0; k < series.names.size(); ++k) {
            const double x = at_x(series.x[k]), y = at_y(series.y[k]);
            const double half_width = 3.5 * columns_of(series.names[k]), half_height = 6;
            const std::pair<double, double> shifts[] = {
                {half_width + 6, 0}, {-half_width - 6, 0}, {0, half_height + 5}, {0, -half_height - 5}};
            for (const auto& [dx, dy] : shifts) {
                const Box box{x + dx, y + dy, half_width, half_height};
                if (many_ && std::any_of(taken_.begin(), taken_.end(), [&](const Box& t) { return t.meets(box); }))
                    continue;
                taken_.push_back(box);
                out += number(value_x(box.x)) + " " + number(value_y(box.y)) + " " + quoted(series.names[k]) + "\n";
                break;
            }
        }
        return out + "END\n";
    }

private:
    // A rectangle in pixels, by its centre.
    struct Box {
        double x, y, half_width, half_height;
        bool meets(const Box& other) const {
            return std::abs(x - other.x) < half_width + other.half_width &&
                   std::abs(y - other.y) < half_height + other.half_height;
        }
    };
    static constexpr double pixels = 650; // the plot's width and height, about
    double at_x(double x) const { return pixels * axes_.x.share(curves_.on_x(x)); }
    double at_y(double y) const { return pixels * axes_.y.share(curves_.on_y(y)); }
    static double value(const Range& range, double at, bool log) {
        const double value = range.low + at / pixels * (range.high - range.low);
        return log ? std::pow(10, value) : value;
    }
    double value_x(double at) const { return value(axes_.x, at, curves_.log_x); }
    double value_y(double at) const { return value(axes_.y, at, curves_.log_y); }

    const Curves& curves_;
    Axes axes_;
    bool many_ = false;
    std::vector<Box> taken_;
};

std::string names_of(const Look& look, std::size_t i) {
    return "$names" + std::to_string(i) + " using 1:2:3 with labels font ',10' textcolor rgb " +
           color_text(look.color) + " notitle";
}

// Whether there is a key, and the length of its longest line in letters.
bool has_key(const Curves& curves) {
    return curves.series.size() > 1 || !curves.references.empty() || !curves.interval.empty();
}
std::size_t key_columns(const Curves& curves) {
    if (!has_key(curves)) return 0;
    int most = columns_of(curves.interval);
    for (const Series& series : curves.series)
        if (!named_by_axis(curves, series)) most = std::max(most, columns_of(series.label));
    for (const Reference& reference : curves.references) most = std::max(most, columns_of(reference.label));
    return static_cast<std::size_t>(most);
}

std::string curves_script(const Curves& curves) {
    std::string out;
    for (std::size_t i = 0; i < curves.series.size(); ++i) {
        const Series& series = curves.series[i];
        out += "$series" + std::to_string(i) + " << END\n";
        for (std::size_t k = 0; k < series.x.size(); ++k) {
            out += number(series.x[k]) + " " + number(series.y[k]);
            if (!series.low.empty()) out += " " + number(series.low[k]) + " " + number(series.high[k]);
            out += "\n";
        }
        out += "END\n";
    }
    Names names(curves);
    for (std::size_t i = 0; i < curves.series.size(); ++i)
        if (!curves.series[i].names.empty()) out += names.block(curves.series[i], i);
    const Axes axes = axes_of(curves);
    const auto end = [](double value, bool log) { return number(log ? std::pow(10, value) : value); };
    const double pad = 0.04 * (axes.y.high - axes.y.low);
    const bool marks = std::any_of(curves.series.begin(), curves.series.end(),
                                   [](const Series& series) { return series.style != Series::Style::line; });
    const double pad_x = !curves.x_names.empty() ? 0.5
                         : marks                 ? 0.02 * (axes.x.high - axes.x.low)
                                                 : 0; // without it, they would be cut in half
    out += "set xrange [" + end(axes.x.low - pad_x, curves.log_x) + ":" + end(axes.x.high + pad_x, curves.log_x) +
           "]\nset yrange [" + end(axes.y.low - pad, curves.log_y) + ":" + end(axes.y.high + pad, curves.log_y) + "]\n";
    if (!curves.x_names.empty()) out += tics("x", curves.x_names);
    if (curves.log_x) out += "set logscale x\nset format x '%g'\n";
    if (curves.log_y) out += "set logscale y\nset format y '%g'\n";
    out += log_tics(curves, axes);
    out += "set grid linecolor rgb '#dddddd' linetype 1\nset tics out nomirror\nset border 3\nset samples 2\n";
    if (curves.square) out += "set size ratio -1\n";
    return out + (has_key(curves) ? "set key outside right top Left reverse\n" : "unset key\n");
}

// The interval of each value: a band, or a stroke for separate values. "yerrorbars" would give points of size zero,
// which librsvg refuses.
std::string interval_of(const Series& series, const Look& look, std::size_t i) {
    const bool apart = series.style == Series::Style::points;
    return "$series" + std::to_string(i) +
           (apart ? " using 1:3:(0):($4-$3) with vectors nohead linewidth 2"
                  : " using 1:3:4 with filledcurves fillstyle transparent solid 0.15 noborder") +
           " linecolor rgb " + color_text(look.color);
}

// Intervals at the bottom, then the series, then the references.
std::string curves_plot(const Curves& curves) {
    const std::vector<Look> looks = looks_of(curves);
    std::vector<std::string> elements;
    for (std::size_t i = 0; i < curves.series.size(); ++i)
        if (!curves.series[i].low.empty())
            elements.push_back(interval_of(curves.series[i], looks[i], i) +
                               (elements.empty() ? " title " + literal(curves.interval) : " notitle"));
    for (std::size_t i = 0; i < curves.series.size(); ++i)
        elements.push_back(element(curves, curves.series[i], looks[i], i));
    for (std::size_t i = 0; i < curves.series.size(); ++i)
        if (!curves.series[i].names.empty()) elements.push_back(names_of(looks[i], i));
    for (std::size_t i = 0; i < curves.references.size(); ++i)
        elements.push_back(number(curves.references[i].y) +
                           " with lines linecolor rgb '#888888' linewidth 1.5 dashtype " + std::to_string(2 + i) +
                           " title " + literal(curves.references[i].label));
    std::string out = "plot ";
    for (const std::string& text : elements) out += (out.size() > 5 ? ", \\\n     " : "") + text;
    return out + "\n";
}

// The label of the x axis, and below it the meaning of a map's white cells.
std::string x_label(const Picture& picture, const HeatMap* map) {
    const std::string label = literal(picture.x_label);
    return map && has_blank(*map) && !map->blank.empty() ? label + ".\"\\n\"." + literal("white: " + map->blank)
                                                         : label;
}

} // namespace

std::string file_stem(const Experiment& experiment, std::string_view name) {
    std::string stem = std::string(experiment.name) + "-" + std::string(name);
    for (char& c : stem) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
        if (!plain) c = '-';
    }
    return stem;
}

std::string plot_script(const Picture& picture, const std::string& stem) {
    const auto* map = std::get_if<HeatMap>(&picture.content);
    const auto* curves = std::get_if<Curves>(&picture.content);
    const bool named = curves && std::any_of(curves->series.begin(), curves->series.end(),
                                             [](const Series& series) { return !series.names.empty(); });
    const bool high = (named && curves->square) || (map && map->square); // names and square cells need height
    const bool crowded = are_crowded(map ? map->x_names : curves->x_names);
    const std::string height = high ? "900" : crowded ? "720" : "600";
    std::string out = "# gnuplot 5: " + stem + "\nset encoding utf8\nset datafile missing 'NaN'\nset xlabel " +
                      x_label(picture, map) + " noenhanced\nset ylabel " + literal(picture.y_label) + " noenhanced\n";
    out += map ? map_script(*map) : curves_script(*curves);
    const auto file = [&](const std::string& terminal, const char* suffix) {
        return "set terminal " + terminal + " noenhanced background 'white'\nset output " + literal(stem + suffix) +
               "\n" + (map ? map_plot(*map) : curves_plot(*curves));
    };
    out += file("svg size 960," + height + " dynamic standalone font 'sans,14'", ".svg");
    out += "set title " + title_lines(picture.title, curves ? key_columns(*curves) : 0) + " noenhanced\n";
    return out + file("pngcairo size 960," + height + " font 'sans,11'", ".png") + "set output\n";
}

} // namespace ordo::lab
