// SPDX-License-Identifier: MIT
#include "tools/lab/drawing/render.h"

#include "tools/lab/drawing/draw.h"
#include "tools/lab/drawing/svg.h"
#include "tools/lab/math/numbers.h"
#include "tools/terminal/terminal.h"
#include "tools/terminal/wide_table.h"

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace ordo::lab {

using tools::escaped_markdown;
using tools::Format;

namespace {

// The mark before an item of a list: "- ", or its number.
std::string mark_of(std::size_t i, const std::vector<std::string>& lines, bool numbered) {
    if (!numbered) return "- ";
    const int width = columns_of(std::to_string(lines.size()));
    return fitted(std::to_string(i + 1), width, true) + ". ";
}

// Items with a mark each. Further lines of an item are indented by the mark's width.
std::string items(std::string_view heading, const std::vector<std::string>& lines, const Screen& screen,
                  bool numbered = false) {
    if (lines.empty()) return {};
    std::string out = "\n" + std::string(heading) + ":\n";
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::string mark = "  " + mark_of(i, lines, numbered);
        out += mark + wrapped(lines[i], screen.width, columns_of(mark)) + "\n";
    }
    return out;
}

std::string markdown_items(std::string_view heading, const std::vector<std::string>& lines, bool numbered = false) {
    if (lines.empty()) return {};
    std::string out = "**" + std::string(heading) + "**\n\n";
    for (std::size_t i = 0; i < lines.size(); ++i)
        out += (numbered ? std::to_string(i + 1) + ". " : "- ") + escaped_markdown(lines[i]) + "\n";
    return out + "\n";
}

Figures curve_figures(const Curves& curves) {
    const auto any = [&](auto has) { return std::any_of(curves.series.begin(), curves.series.end(), has); };
    Figures figures{{"series", "x", "y"}, {}};
    if (any([](const Series& s) { return !s.low.empty(); }))
        figures.columns.insert(figures.columns.end(), {"low", "high"});
    if (any([](const Series& s) { return !s.names.empty(); })) figures.columns.emplace_back("name");
    for (const Series& series : curves.series)
        for (std::size_t i = 0; i < series.x.size(); ++i) {
            auto& row = figures.rows.emplace_back(figures.columns.size());
            row[0] = series.label;
            row[1] = series.x[i];
            row[2] = series.y[i];
            if (!series.names.empty()) row.back() = series.names[i];
            if (series.low.empty()) continue;
            row[3] = series.low[i];
            row[4] = series.high[i];
        }
    for (const Reference& reference : curves.references) {
        auto& row = figures.rows.emplace_back(figures.columns.size());
        row[0] = reference.label;
        row[2] = reference.y;
    }
    return figures;
}

Figures map_figures(const Picture& picture, const HeatMap& map) {
    Figures figures{{picture.y_label}, {}};
    for (std::size_t i = 0; i < map.values[0].size(); ++i)
        figures.columns.push_back(map.x_names.empty() ? std::to_string(i) : map.x_names[i]);
    for (std::size_t i = 0; i < map.values.size(); ++i) {
        if (map.y_names.empty())
            add_row(figures, map.first_y + static_cast<int>(i), map.values[i]);
        else
            add_row(figures, map.y_names[i], map.values[i]);
    }
    return figures;
}

// A table or a picture.
template <class Part>
void write_json(JsonWriter& out, const Part& part, const Figures& figures) {
    out.begin_object();
    out.member("name", part.name);
    out.member("title", part.title);
    if constexpr (std::is_same_v<Part, Picture>) {
        out.member("x", part.x_label);
        out.member("y", part.y_label);
    }
    out.key("rows");
    tools::write_json(out, figures);
    out.end_object();
}

} // namespace

bool has_sentences(const Figures& figures) {
    constexpr std::size_t long_text = 80;
    for (const auto& row : figures.rows)
        for (const Cell& cell : row)
            if (const auto* words = std::get_if<std::string>(&cell); words && words->size() > long_text) return true;
    return false;
}

Screen screen_of_stdout() {
    Screen screen;
    if (!tools::stdout_is_terminal()) return screen;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        screen.width = std::clamp<int>(size.ws_col, 40, 160);
    const char* none = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    if ((none && *none) || !term || std::string_view(term) == "dumb") return screen;
    const char* depth = std::getenv("COLORTERM");
    screen.color = true;
    screen.true_color = depth && (std::string_view(depth) == "truecolor" || std::string_view(depth) == "24bit");
    return screen;
}

std::string escaped_html(std::string_view text) {
    std::string out;
    for (const char c : text)
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
            out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : "&#39;";
        else if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') // HTML allows no others
            out += c;
    return out;
}

std::string axes_text(const Picture& picture) {
    return picture.y_label + " against " + picture.x_label;
}

Figures for_readers(Figures figures) {
    for (auto& row : figures.rows)
        for (Cell& cell : row)
            if (const double* value = std::get_if<double>(&cell);
                value && figures.decimals < 0 && std::isfinite(*value)) {
                char buffer[32];
                std::snprintf(buffer, sizeof buffer, "%.6g", *value);
                cell = std::strtod(buffer, nullptr);
            }
    return figures;
}

std::string duration_text(double seconds) {
    if (seconds < 119.5) return tools::fixed_text(std::max(seconds, 1.0), 0) + " s";
    const double minutes = seconds / 60; // rounded to halves below 10 minutes
    return tools::number_text(minutes < 9.75 ? std::round(2 * minutes) / 2 : std::round(minutes)) + " min";
}

Figures figures_of(const Picture& picture) {
    if (const auto* curves = std::get_if<Curves>(&picture.content)) return curve_figures(*curves);
    return map_figures(picture, std::get<HeatMap>(picture.content));
}

namespace {

constexpr int brief_lines = 40;

int lines_of(const std::string& text) {
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

std::string text_of(const NamedFigures& table, const Screen& screen) {
    const Figures figures = for_readers(table.figures);
    return "\n" + wrapped(table.title, screen.width, 0) + "\n\n" +
           (has_sentences(figures) ? tools::records(figures, screen.width) : tools::in_width(figures, screen.width));
}

// The answer, the first picture, and the first findings and the tables that fit.
std::string brief_of(const std::string& answer, const Result& result, Screen screen) {
    int left = brief_lines - lines_of(answer) - 2; // less the last lines, which name the rest
    std::string parts;
    std::vector<std::string> found;
    if (!result.pictures.empty()) {
        constexpr int least = 8;
        const auto* curves = std::get_if<Curves>(&result.pictures[0].content);
        if (curves && of_names(*curves)) screen.lines = std::max(left, least); // a row for each name
        for (int over = 0; parts.empty() || (over > 0 && screen.lines > least);) {
            screen.lines = std::max(least, screen.lines - over);
            screen.rows = static_cast<std::size_t>(screen.lines);
            parts = "\n" + draw(result.pictures[0], screen);
            over = lines_of(parts) - left;
        }
        left -= lines_of(parts);
    }
    std::size_t tables = 0;
    const auto add_findings = [&] {
        constexpr std::size_t few = 3;
        for (const std::string& finding : result.found) {
            found.push_back(finding);
            if (found.size() <= few && lines_of(items("found", found, screen)) <= left) continue;
            found.pop_back();
            break;
        }
        left -= lines_of(items("found", found, screen));
    };
    if (!parts.empty()) add_findings();
    for (const NamedFigures& table : result.tables) {
        const std::string drawn = text_of(table, screen);
        if (lines_of(drawn) > left) continue;
        parts += drawn, left -= lines_of(drawn), ++tables;
    }
    if (result.pictures.empty()) add_findings();
    std::string more;
    const auto count = [&](std::size_t n, const char* what) {
        if (n > 0) append(more, counted(n, what));
    };
    count(result.found.size() - found.size(), "finding");
    count(result.pictures.size() - std::min<std::size_t>(1, result.pictures.size()), "picture");
    count(result.tables.size() - tables, "table");
    append(more, result.notes.empty() ? "the method" : "the method and the limits");
    return answer + items("found", found, screen) + parts + "\n" +
           wrapped("--all adds " + more + ".", screen.width, 0) + "\n";
}

} // namespace

std::string text_of(const Experiment& experiment, const Result& result, Screen screen, bool all) {
    std::string out = wrapped(std::string(experiment.name) + ": " + std::string(experiment.summary), screen.width, 0) +
                      "\n\n" + wrapped(result.answer, screen.width, 0) + "\n";
    if (!all) return brief_of(out, result, screen);
    out += items("found", result.found, screen);
    for (const Picture& picture : result.pictures) out += "\n" + draw(picture, screen);
    for (const NamedFigures& table : result.tables) out += text_of(table, screen);
    out += "\nmethod: " + wrapped(experiment.details, screen.width, 8) + "\n";
    return out + items("expected before the run", result.expected, screen, true) + items("notes", result.notes, screen);
}

std::string markdown_of(const Experiment& experiment, const Result& result, const std::string& command,
                        const std::string& pictures) {
    std::string out = "## <a id=\"" + std::string(experiment.name) + "\"></a>" + escaped_markdown(experiment.summary) +
                      "\n\n" + escaped_markdown(result.answer) + "\n\n";
    out += markdown_items("Found", result.found);
    for (const Picture& picture : result.pictures) {
        const std::string file = file_stem(experiment, picture.name) + ".svg";
        if (!pictures.empty())
            out += escaped_markdown(picture.title) + "\n\n![" + escaped_markdown(axes_text(picture)) + "](<" +
                   pictures + "/" + file + ">)\n\n";
        else
            out += "```text\n" + draw(picture, {}) + "```\n\n";
    }
    for (const NamedFigures& table : result.tables)
        out += escaped_markdown(table.title) + "\n\n" + tools::render(for_readers(table.figures), Format::md) + "\n";
    out += "**Method**\n\n" + escaped_markdown(experiment.details) + "\n\n```sh\n" + command + "\n```\n\n";
    out += markdown_items("Expected before the run", result.expected, true);
    return out + markdown_items("Notes", result.notes);
}

std::string csv_of(const Result& result) {
    std::deque<NamedFigures> tables = result.tables;
    for (const Picture& picture : result.pictures) tables.push_back({picture.name, picture.title, figures_of(picture)});
    std::string out;
    for (const NamedFigures& table : tables) {
        if (tables.size() > 1) out += "# " + table.name + ": " + table.title + "\n";
        out += tools::render(table.figures, Format::csv);
    }
    return out;
}

std::string json_of(const Experiment& experiment, const Result& result, const std::string& command) {
    JsonWriter out(1);
    out.begin_object();
    out.member("experiment", experiment.name);
    out.member("command", command);
    out.member("answer", result.answer);
    out.member("expected", result.expected);
    out.member("found", result.found);
    out.member("notes", result.notes);
    out.key("tables");
    out.begin_array();
    for (const NamedFigures& table : result.tables) write_json(out, table, table.figures);
    out.end_array();
    out.key("pictures");
    out.begin_array();
    for (const Picture& picture : result.pictures) write_json(out, picture, figures_of(picture));
    out.end_array();
    out.end_object();
    return out.take() + "\n";
}

} // namespace ordo::lab
