// SPDX-License-Identifier: MIT
// The report as HTML. The page loads nothing, and escapes all text.
#include "tools/lab/drawing/plot.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/report/live.h"
#include "tools/lab/report/report.h"

namespace ordo::lab {

namespace {

using tools::Cell;
using tools::Figures;
using tools::Format;

constexpr std::size_t long_table = 30;   // a table of this many rows or more is folded
constexpr std::size_t many_columns = 13; // a table of this many columns or more has smaller letters

// Tables may be wider than the text, up to 1,240 pixels. Pictures keep readable letters and scroll on a narrow screen.
constexpr std::string_view style = R"(
:root { color-scheme: light dark; --ink: #222; --dim: #555; --paper: #fff; --line: #ccc; --box: #f4f4f4; --found: #eef4ea; --link: #0645ad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --dim: #aaa; --paper: #16181b; --line: #444; --box: #222529; --found: #1f2a1f; --link: #8ab4f8; }
}
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink); background: var(--paper); overflow-wrap: break-word; }
a { color: var(--link); } h1, h2 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
pre { background: var(--box); padding: .6rem; overflow-x: auto; line-height: 1.25; } code { background: var(--box); padding: 0 .2em; }
figure { margin: 1.5rem 0; } .picture { overflow-x: auto; } .picture img { width: 100%; min-width: 900px; background: #fff; }
figcaption { color: var(--dim); }
.wide { overflow-x: auto; width: min(1240px, 100vw - 2rem); margin-left: calc((100% - min(1240px, 100vw - 2rem)) / 2); }
table { border-collapse: collapse; margin: .5rem 0; font-size: 14px; } .wide table { margin-left: max(0px, (100% - 60rem) / 2); }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left; } td.number { text-align: right; white-space: nowrap; }
.many { font-size: 11px; } .many th, .many td { padding: .15rem .3rem; }
.error { color: #d33; font-weight: bold; } .found { background: var(--found); padding: .3rem 1rem; }
.answers li { margin: .6rem 0; } .question { color: var(--dim); }
.live canvas { width: 100%; height: 300px; background: var(--box); } .live .key { display: flex; flex-wrap: wrap; gap: 0 1.2rem; } .live label { display: inline-block; margin-right: 1.5rem; }
.live input[type=range] { width: 14rem; vertical-align: middle; } .live output { display: inline-block; min-width: 5em; }
)";

std::string base64(std::string_view bytes) {
    static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const auto byte = [&](std::size_t i) {
            return at + i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[at + i])) : 0u;
        };
        const unsigned three = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (std::size_t i = 0; i < 4; ++i) out += at + i <= bytes.size() ? digits[three >> (18 - 6 * i) & 63] : '=';
    }
    return out;
}

// Renders `words` in backticks as code. A backtick without a partner stays.
std::string prose(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t open = text.find('`', at), close = open == text.npos ? text.npos : text.find('`', open + 1);
        if (close == text.npos) return out + escaped_html(text.substr(at));
        out += escaped_html(text.substr(at, open - at)) + "<code>" +
               escaped_html(text.substr(open + 1, close - open - 1)) + "</code>";
        at = close + 1;
    }
    return out;
}

std::string paragraph(std::string_view text) {
    return "<p>" + prose(text) + "</p>\n";
}

// tag: "ol" numbers the items, "ul" does not.
std::string list(std::string_view heading, std::string_view kind, const std::vector<std::string>& lines,
                 const std::string& tag = "ul") {
    if (lines.empty()) return {};
    std::string out = "<div class=\"" + std::string(kind) + "\"><h3>" + std::string(heading) + "</h3>\n<" + tag + ">\n";
    for (const std::string& line : lines) out += "<li>" + prose(line) + "</li>\n";
    return out + "</" + tag + "></div>\n";
}

// Numbers as a link to a CSV file inside the page, so that the page works without its directory.
std::string csv_link(const std::string& file, const Figures& figures) {
    return "<a download=\"" + file + "\" href=\"data:text/csv;base64," + base64(tools::render(figures, Format::csv)) +
           "\">" + file + "</a>";
}

std::string cell_html(const Cell& cell, int decimals) {
    if (const auto* text = std::get_if<std::string>(&cell)) return "<td>" + prose(*text) + "</td>";
    if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "<td>yes</td>" : "<td>no</td>";
    std::string text = "-";
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) text = std::to_string(*whole);
    if (const auto* value = std::get_if<double>(&cell))
        text = decimals < 0 ? tools::number_text(*value) : tools::fixed_text(*value, decimals);
    return "<td class=\"number\">" + text + "</td>";
}

// A name that may break after its underscores.
std::string breakable(const std::string& name) {
    std::string out;
    for (const char c : escaped_html(name)) out += c == '_' ? std::string("_<wbr>") : std::string(1, c);
    return out;
}

std::string table_html(const Experiment& experiment, const NamedFigures& table) {
    const Figures figures = for_readers(table.figures);
    const char* many = figures.columns.size() >= many_columns ? " class=\"many\"" : "";
    std::string out = "<div class=\"wide\"><table" + std::string(many) + ">\n<tr>";
    for (const std::string& column : figures.columns) out += "<th>" + breakable(column) + "</th>";
    out += "</tr>\n";
    for (const auto& row : figures.rows) {
        out += "<tr>";
        for (const Cell& cell : row) out += cell_html(cell, figures.decimals);
        out += "</tr>\n";
    }
    out += "</table></div>\n";
    if (figures.rows.size() >= long_table)
        out = "<details><summary>" + std::to_string(figures.rows.size()) + " rows</summary>\n" + out + "</details>\n";
    return "<h3>" + prose(table.title) + "</h3>\n" + out + "<p>" +
           csv_link(file_stem(experiment, table.name) + ".csv", table.figures) + "</p>\n";
}

std::string picture_html(const Experiment& experiment, const Picture& picture, const std::filesystem::path& folder) {
    const std::string stem = file_stem(experiment, picture.name), title = escaped_html(picture.title);
    const std::string svg = file_text(folder / (stem + ".svg"));
    const std::string shown =
        svg.empty() ? "<pre>" + escaped_html(text_of(picture, {})) + "</pre>\n"
                    : "<img alt=\"" + title + "\" src=\"data:image/svg+xml;base64," + base64(svg) + "\">\n";
    return "<figure>\n<div class=\"picture\">" + shown + "</div><figcaption>" + prose(picture.title) + ". " +
           csv_link(stem + ".csv", figures_of(picture)) + "</figcaption>\n</figure>\n";
}

// Each question with its first finding: a summary with links to the rest.
std::string answers(std::span<const Outcome> outcomes) {
    std::string out = "<h2>What was found</h2>\n<ol class=\"answers\">\n";
    for (const Outcome& outcome : outcomes) {
        const std::string name = escaped_html(outcome.experiment->name);
        out += "<li><a href=\"#" + name + "\"><strong>" + name + "</strong></a>: <span class=\"question\">" +
               prose(outcome.experiment->summary) + "</span><br>";
        out += outcome.error.empty() ? prose(outcome.result.found.front()) : "<span class=\"error\">no result</span>";
        out += "</li>\n";
    }
    return out + "</ol>\n";
}

std::string section(const Outcome& outcome, const std::filesystem::path& pictures) {
    const Experiment& experiment = *outcome.experiment;
    const std::string name = escaped_html(experiment.name);
    std::string out = "<section id=\"" + name + "\">\n<h2>" + name + "</h2>\n" + paragraph(experiment.summary) +
                      paragraph(experiment.details) + "<pre>" + escaped_html(outcome.command) + "</pre>\n";
    if (!outcome.error.empty()) return out + "<p class=\"error\">" + escaped_html(outcome.error) + "</p>\n</section>\n";
    out += list("Expected", "expected", outcome.result.expected, "ol") + list("Found", "found", outcome.result.found);
    for (const Picture& picture : outcome.result.pictures) out += picture_html(experiment, picture, pictures);
    for (const NamedFigures& table : outcome.result.tables) out += table_html(experiment, table);
    return out + list("Notes", "notes", outcome.result.notes) + "<p>Took " + tools::fixed_text(outcome.seconds, 1) +
           " s.</p>\n</section>\n";
}

} // namespace

std::string escaped_html(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (c == '\'')
            out += "&#39;";
        else if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') // HTML allows no others
            out += c;
    }
    return out;
}

std::string page_html(std::span<const Outcome> outcomes, const Setting& setting,
                      const std::filesystem::path& pictures) {
    std::string out =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Ordo: the lab</title>\n<style>" +
        std::string(style) + "</style>\n</head>\n<body>\n<h1>Ordo: the lab</h1>\n" +
        paragraph("What positional encodings are and do, computed on one machine by the commands that are named.");
    out += answers(outcomes) + std::string(live_figures);
    out += "<h2>How it was made</h2>\n<pre>" +
           escaped_html(setting.command + "\n\n" + setting.machine + "\n" + setting.versions) + "</pre>\n";
    for (const Outcome& outcome : outcomes) out += section(outcome, pictures);
    return out + "</body>\n</html>\n";
}

} // namespace ordo::lab
