// SPDX-License-Identifier: MIT
// The report as HTML: a card for each question, in five groups, and closed sections below. The page loads nothing, and
// escapes all text. Long tables are links to the files in data/, or to pages of their own if they have sentences.
#include "tools/lab/drawing/render.h"
#include "tools/lab/drawing/svg.h"
#include "tools/lab/report/report.h"

#include <algorithm>

namespace ordo::lab {
namespace {

using tools::Cell;
using tools::Figures;

constexpr std::size_t long_table = 16;   // a table of more rows is only linked
constexpr std::size_t many_columns = 12; // as is a table of this many columns or more
constexpr std::size_t few_records = 4;   // of a table of sentences that is shown
constexpr std::size_t few_pictures = 6;  // of an experiment; the others are folded

// Tables and pictures keep readable letters, and scroll on a narrow screen.
constexpr std::string_view style = R"(
:root { color-scheme: light dark; --ink: #222; --dim: #555; --paper: #fff; --line: #ccc; --box: #f4f4f4;
  --answer: #eef4ea; --link: #0645ad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --dim: #aaa; --paper: #16181b; --line: #444; --box: #222529; --answer: #1f2a1f;
  --link: #8ab4f8; }
}
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--paper); overflow-wrap: break-word; }
nav { display: none; font-size: 13px; line-height: 1.35; } nav a { display: block; text-decoration: none; }
nav strong { display: block; margin-top: .6rem; }
@media (min-width: 75rem) {
  body { max-width: 78rem; display: grid; grid-template-columns: 10rem minmax(0, 1fr); gap: 0 1.5rem; }
  nav { display: block; position: sticky; top: 1rem; align-self: start; max-height: calc(100vh - 2rem);
    overflow-y: auto; }
}
.alone { grid-column: 1 / -1; max-width: 60rem; }
a { color: var(--link); } h1, h2, h3 { line-height: 1.25; }
h2 { margin: 1.5rem 0 .8rem; }
.experiment { border-top: 1px solid var(--line); } .experiment > summary { padding: .4rem 0; font-weight: bold; }
pre { background: var(--box); padding: .6rem; white-space: pre-wrap; line-height: 1.25; }
code { background: var(--box); padding: 0 .2em; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); gap: .8rem; }
.card { border: 1px solid var(--line); border-radius: 6px; padding: .6rem .8rem; color: inherit;
  text-decoration: none; }
.card:hover { border-color: var(--link); } .card h3 { margin: .2rem 0; font-size: 1rem; color: var(--link); }
.card p { margin: 0; font-size: 14px; line-height: 1.4; }
.card svg { width: 100%; aspect-ratio: 16 / 10; }
.answer { background: var(--answer); padding: .8rem 1rem; font-size: 1.1rem; }
figure { margin: 1.5rem 0; } .picture { overflow-x: auto; }
.picture svg { width: 100%; min-width: 640px; }
figcaption { margin-bottom: .4rem; font-weight: bold; }
.made, .file { color: var(--dim); } summary { cursor: pointer; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0; font-size: 14px; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: left; }
td.number { text-align: right; white-space: nowrap; }
.record { display: grid; grid-template-columns: minmax(4rem, 9rem) 1fr; gap: 0 .8rem;
  border-top: 1px solid var(--line); padding: .5rem 0; margin: 0; }
.record dt { color: var(--dim); } .record dd { margin: 0; min-width: 0; }
.error { color: #d33; font-weight: bold; }
)";

// Each card shows the first picture of its section, which is in the page only once. A link to a section opens it.
constexpr std::string_view script = R"(<script>
for (const card of document.querySelectorAll(".card")) {
  const picture = document.querySelector(card.getAttribute("href") + " svg");
  if (!picture) continue;
  const copy = picture.cloneNode(true), { width, height } = picture.viewBox.baseVal;
  if (height > .95 * width) { // its top, with the axes of curves, large enough to read
    copy.setAttribute("preserveAspectRatio", "xMidYMin slice");
    copy.style.aspectRatio = "24 / 23";
  }
  card.prepend(copy);
}
const open = () => {
  const section = document.getElementById(location.hash.slice(1));
  if (section && section.tagName === "DETAILS") {
    section.open = true;
    section.scrollIntoView();
  }
};
addEventListener("hashchange", open);
for (const link of document.querySelectorAll("nav a, .card")) link.addEventListener("click", () => setTimeout(open));
open();
</script>
)";

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

std::string csv_link(const std::string& stem, const std::string& words) {
    return "<p class=\"file\"><a href=\"data/" + stem + ".csv\">" + words + "</a></p>\n";
}

std::string cell_text(const Cell& cell, int decimals) {
    if (const auto* text = std::get_if<std::string>(&cell)) return prose(*text);
    if (const auto* truth = std::get_if<bool>(&cell)) return *truth ? "yes" : "no";
    if (const auto* whole = std::get_if<std::int64_t>(&cell)) return std::to_string(*whole);
    const auto* value = std::get_if<double>(&cell);
    return !value ? "-" : decimals < 0 ? tools::number_text(*value) : tools::fixed_text(*value, decimals);
}

bool is_number(const Cell& cell) {
    return !std::holds_alternative<std::string>(cell) && !std::holds_alternative<bool>(cell);
}

// The name of a column in words.
std::string words_of(const std::string& column) {
    std::string out = escaped_html(column);
    std::replace(out.begin(), out.end(), '_', ' ');
    return out;
}

std::string rows_html(const Figures& figures) {
    std::string out = "<div class=\"wide\"><table>\n<tr>";
    for (const std::string& column : figures.columns) out += "<th>" + words_of(column) + "</th>";
    out += "</tr>\n";
    for (const auto& row : figures.rows) {
        out += "<tr>";
        for (const Cell& cell : row)
            out += (is_number(cell) ? "<td class=\"number\">" : "<td>") + cell_text(cell, figures.decimals) + "</td>";
        out += "</tr>\n";
    }
    return out + "</table></div>\n";
}

// A row with sentences is a list of its cells.
std::string records_html(const Figures& figures) {
    std::string out;
    for (const auto& row : figures.rows) {
        out += "<dl class=\"record\">";
        for (std::size_t i = 0; i < row.size(); ++i)
            out += "<dt>" + words_of(figures.columns[i]) + "</dt><dd>" + cell_text(row[i], figures.decimals) + "</dd>";
        out += "</dl>\n";
    }
    return out;
}

// The file of a table with many sentences.
std::string page_of(const Experiment& experiment, const NamedFigures& table) {
    return has_sentences(table.figures) && table.figures.rows.size() > few_records
               ? file_stem(experiment, table.name) + ".html"
               : "";
}

std::string table_html(const Experiment& experiment, const NamedFigures& table) {
    const std::size_t rows = table.figures.rows.size();
    const std::string page = page_of(experiment, table);
    const bool sentences = has_sentences(table.figures),
               whole =
                   page.empty() && (sentences || (rows <= long_table && table.figures.columns.size() < many_columns));
    const Figures figures = whole ? for_readers(table.figures) : Figures{};
    return "<h3>" + prose(table.title) + "</h3>\n" +
           (!page.empty() ? "<p><a href=\"" + page + "\">All " + std::to_string(rows) + " on a page</a></p>\n"
            : !whole      ? std::string()
            : sentences   ? records_html(figures)
                          : rows_html(figures)) +
           csv_link(file_stem(experiment, table.name),
                    whole ? "These numbers as CSV" : std::to_string(rows) + " rows as CSV");
}

std::string picture_html(const Experiment& experiment, const Picture& picture) {
    return "<figure>\n<figcaption>" + prose(picture.title) + "</figcaption>\n<div class=\"picture\">" +
           svg_of(picture) + "</div>\n" +
           csv_link(file_stem(experiment, picture.name), "The numbers of this picture as CSV") + "</figure>\n";
}

std::string pictures_html(const Experiment& experiment, std::span<const Picture> pictures) {
    std::string out;
    for (std::size_t i = 0; i < pictures.size(); ++i) {
        if (i == few_pictures)
            out += "<details><summary>" + std::to_string(pictures.size() - i) + " more pictures</summary>\n";
        out += picture_html(experiment, pictures[i]);
    }
    return pictures.size() > few_pictures ? out + "</details>\n" : out;
}

// The groups of the cards, by lessons.
struct Group {
    std::string_view title;
    std::vector<std::string_view> lessons;
};
const Group groups[] = {{"Why order matters", {"Why order matters"}},
                        {"How encodings work", {"Waves", "Rotations", "Biases", "In other programs"}},
                        {"Which to choose, and what to believe", {"Which is better?", "Reading critically"}},
                        {"How far they reach", {"Longer texts"}},
                        {"Inside a model", {"Inside a model"}}};

// The outcomes by group; those of no group come last, without a title.
struct Chapter {
    std::string title;
    std::vector<const Outcome*> outcomes = {};
};
std::vector<Chapter> chapters_of(std::span<const Outcome> outcomes) {
    std::vector<Chapter> chapters;
    for (const Group& group : groups) {
        chapters.push_back({std::string(group.title)});
        for (const std::string_view title : group.lessons)
            for (const Outcome& outcome : outcomes)
                for (const Lesson& lesson : lessons())
                    if (lesson.title == title && std::ranges::count(lesson.experiments, outcome.experiment))
                        chapters.back().outcomes.push_back(&outcome);
    }
    Chapter others;
    for (const Outcome& outcome : outcomes)
        if (std::ranges::none_of(
                chapters, [&](const Chapter& chapter) { return std::ranges::count(chapter.outcomes, &outcome) > 0; }))
            others.outcomes.push_back(&outcome);
    chapters.push_back(others);
    std::erase_if(chapters, [](const Chapter& chapter) { return chapter.outcomes.empty(); });
    return chapters;
}

std::string contents(const std::vector<Chapter>& chapters) {
    std::string out = "<nav>\n";
    for (const Chapter& chapter : chapters) {
        if (!chapter.title.empty()) out += "<strong>" + prose(chapter.title) + "</strong>\n";
        for (const Outcome* outcome : chapter.outcomes)
            out += "<a href=\"#" + escaped_html(outcome->experiment->name) + "\">" +
                   escaped_html(outcome->experiment->name) + "</a>\n";
    }
    return out + "</nav>\n";
}

// A card for each question: its picture, the question and the answer.
std::string answers(const std::vector<Chapter>& chapters) {
    std::string out = "<section id=\"answers\">\n";
    for (const Chapter& chapter : chapters) {
        if (!chapter.title.empty()) out += "<h2>" + prose(chapter.title) + "</h2>\n";
        out += "<div class=\"cards\">\n";
        for (const Outcome* outcome : chapter.outcomes)
            out +=
                "<a class=\"card\" href=\"#" + escaped_html(outcome->experiment->name) + "\"><h3>" +
                prose(outcome->experiment->summary) + "</h3><p>" +
                (outcome->error.empty() ? prose(outcome->result.answer) : "<span class=\"error\">No result.</span>") +
                "</p></a>\n";
        out += "</div>\n";
    }
    return out + "</section>\n";
}

std::string section(const Outcome& outcome) {
    const Experiment& experiment = *outcome.experiment;
    const Result& result = outcome.result;
    std::string out = "<details class=\"experiment\" id=\"" + escaped_html(experiment.name) + "\"><summary>" +
                      prose(experiment.summary) + "</summary>\n";
    if (outcome.error.empty()) {
        out += "<p class=\"answer\">" + prose(result.answer) + "</p>\n" + list("In numbers", "found", result.found);
        out += pictures_html(experiment, result.pictures);
        for (const NamedFigures& table : result.tables) out += table_html(experiment, table);
    } else {
        out += "<p class=\"error\">" + escaped_html(outcome.error) + "</p>\n";
    }
    out += "<details class=\"made\"><summary>How it was made</summary>\n" + paragraph(experiment.details) + "<pre>" +
           escaped_html(outcome.command) + "</pre>\n" +
           list("Expected before the run", "expected", result.expected, "ol") + list("Notes", "notes", result.notes);
    return out + "<p>It took " + tools::fixed_text(outcome.seconds, 1) +
           " s.</p>\n</details>\n<p><a href=\"#answers\">All questions</a></p>\n</details>\n";
}

std::string head_html(std::string_view title) {
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
           "content=\"width=device-width\">\n<title>" +
           escaped_html(title) + "</title>\n<style>" + std::string(style) + "</style>\n</head>\n<body>\n";
}

} // namespace

std::vector<std::pair<std::string, std::string>> own_pages(std::span<const Outcome> outcomes) {
    std::vector<std::pair<std::string, std::string>> pages;
    for (const Outcome& outcome : outcomes)
        for (const NamedFigures& table : outcome.result.tables)
            if (const std::string name = page_of(*outcome.experiment, table); !name.empty())
                pages.emplace_back(
                    name, head_html(outcome.experiment->summary) + "<main class=\"alone\">\n<h1>" +
                              prose(outcome.experiment->summary) + "</h1>\n" + paragraph(outcome.result.answer) +
                              "<h2>" + prose(table.title) + "</h2>\n" + records_html(for_readers(table.figures)) +
                              "<p><a href=\"index.html\">All questions</a></p>\n</main>\n</body>\n</html>\n");
    return pages;
}

std::vector<std::string> introduction(std::size_t questions, const Setting& setting) {
    std::vector<std::string> out{
        "A transformer compares the words of a text with each other, but it does not see their order: \"dog bites "
        "man\" and \"man bites dog\" are the same set of words. A positional encoding tells it where each word stands. "
        "There are many: waves added to the word vectors (sinusoidal), rotations (RoPE), penalties on distance "
        "(ALiBi), and more.",
        "This page asks " + std::to_string(questions) +
            " questions about positional encodings and answers each by an experiment. It is for students, and for "
            "everybody who has to choose an encoding. You need to know how attention works. Ordo, a small transformer "
            "program, computed the numbers when this page was made; numbers from papers are marked as published.",
        "Four words come up often. `none` is a model without an encoding (NoPE in papers). The loss says how badly a "
        "model predicts the next token, in nats: lower is better. Perplexity is e to the power of the loss. A "
        "difference is undecided if chance alone could explain it."};
    if (setting.command.find(" --quick") != std::string::npos)
        out.emplace_back("This is a quick run. It trains less, with fewer seeds, and measures fewer texts: it decides "
                         "less than a full "
                         "run, and its numbers can differ from that.");
    return out;
}

std::string page_html(std::span<const Outcome> outcomes, const Setting& setting) {
    std::string out = head_html(page_title);
    const std::vector<Chapter> chapters = chapters_of(outcomes);
    out += contents(chapters) + "<main>\n<h1>" + std::string(page_title) + "</h1>\n";
    for (const std::string& text : introduction(outcomes.size(), setting)) out += paragraph(text);
    out += answers(chapters) + "<h2>The numbers behind the answers</h2>\n";
    for (const Chapter& chapter : chapters)
        for (const Outcome* outcome : chapter.outcomes) out += section(*outcome);
    return out + "<section>\n<h2>How this page was made</h2>\n<pre>" +
           escaped_html(setting.command + "\n\n" + setting.machine + "\n" + setting.versions) + "</pre>\n</section>\n" +
           "</main>\n" + std::string(script) + "</body>\n</html>\n";
}

} // namespace ordo::lab
