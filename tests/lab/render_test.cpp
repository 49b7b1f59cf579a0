// SPDX-License-Identifier: MIT
// Any result as text, Markdown, CSV, JSON, HTML and SVG.
#include "tests/json.h"
#include "tests/lab/has.h"
#include "tests/lab/nasty.h"
#include "tools/lab/drawing/draw.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/drawing/svg.h"
#include "tools/lab/report/report.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;
using namespace ordo::lab::test;
using lab::Curves;
using lab::HeatMap;
using lab::Picture;
using lab::Series;

std::string without_escapes(const std::string& text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\033')
            i = text.find('m', i);
        else
            out += text[i];
    return out;
}

int widest(const std::string& text) {
    std::istringstream lines(without_escapes(text));
    int most = 0;
    for (std::string line; std::getline(lines, line);) most = std::max(most, lab::columns_of(line));
    return most;
}

// Every number appears once. Every block of columns begins with the columns that identify its rows.
TEST(LabText, AWideTableFitsTheScreen) {
    tools::Figures wide{{"model", "length"}, {}, 3};
    for (int c = 0; c < 14; ++c) wide.columns.push_back("column_" + std::to_string(c));
    for (int r = 0; r < 2; ++r) { // the model and the length together identify a row
        auto& row = wide.rows.emplace_back();
        row = {std::string("m"), 256.5 + r};
        for (int c = 0; c < 14; ++c) row.emplace_back(100 * r + c + 0.5);
    }
    lab::Result result;
    result.tables = {{"t", "wide", wide}};
    for (const int width : {40, 80, 160}) {
        const std::string text = lab::text_of(nasty, result, {.width = width}, true);
        EXPECT_LE(widest(text), width) << text;
        const auto times = [&](const std::string& what) {
            int count = 0;
            for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
            return count;
        };
        for (int c = 0; c < 14; ++c) {
            EXPECT_EQ(times(" " + std::to_string(c) + ".500"), 1) << text;
            EXPECT_EQ(times(" " + std::to_string(100 + c) + ".500"), 1) << text;
        }
        EXPECT_EQ(times("257.500"), times("model   length")) << text;
        EXPECT_EQ(times("256.500"), times("model   length")) << text;
    }
}

// If the columns that identify the rows fill the screen, they are still shown in full.
TEST(LabText, RowsOfLongNamesAreWrittenOneAfterAnother) {
    lab::Result result;
    result.tables = {
        {"t",
         "long",
         {{"first", "second", "value"},
          {{std::string(30, 'a'), std::string(30, 'b'), 1.5}, {std::string(30, 'a'), std::string("c"), 2.5}}}}};
    EXPECT_TRUE(has(lab::text_of(nasty, result, {.width = 60}, true), "second  c\nvalue   2.5\n"));
}

TEST(LabText, ListsHaveMarksAndStandClearOfThem) {
    lab::Result result;
    for (int i = 0; i < 10; ++i) result.expected.push_back("e" + std::to_string(i));
    result.found = {"found " + std::string(44, 'x') + " more", "second"};
    result.notes = {"note"};
    const std::string text = lab::text_of(nasty, result, {.width = 50}, true);
    EXPECT_TRUE(has(text, "\nexpected before the run:\n   1. e0\n   2. e1\n"));
    EXPECT_TRUE(has(text, "\n  10. e9\n"));
    EXPECT_TRUE(has(text, "\nfound:\n  - found\n    " + std::string(44, 'x') + "\n    more\n  - second\n"));
    EXPECT_TRUE(has(text, "\nnotes:\n  - note\n"));
    EXPECT_TRUE(has(lab::markdown_of(nasty, result, "c"), "\n10. e9\n"));
    const std::vector<lab::Outcome> outcomes{{.experiment = &nasty, .result = result}};
    const std::string page = lab::page_html(outcomes, {});
    EXPECT_TRUE(has(page, "<ol>\n<li>e0</li>"));
    EXPECT_TRUE(has(page, "<ul>\n<li>note</li>"));
}

TEST(LabText, BeginsWithTheAnswerAndEndsWithTheMethod) {
    lab::Result result;
    result.answer = "It depends.";
    result.found = {"a number"};
    result.notes = {"a limit"};
    result.tables = {{"t", "a table", {{"n"}, {{std::int64_t{3}}}}}};
    result.pictures = {{"p", "a picture", "x", "y", Curves{.series = {{.label = "s", .x = {1, 2}, .y = {2, 3}}}}}};
    const std::string text = lab::text_of(nasty, result, {}, true);
    EXPECT_TRUE(text.starts_with("nasty: a < b & c\n\nIt depends.\n\nfound:\n  - a number\n\na picture\n")) << text;
    const std::size_t picture = text.find("a picture"), table = text.find("a table"),
                      method = text.find("method: \"quoted\"");
    EXPECT_LT(picture, table);
    EXPECT_LT(table, method);
    EXPECT_LT(method, text.find("a limit"));
}

// A screen holds the answer, a picture, and the short table. The rest needs --all.
TEST(LabText, FitsAScreenUnlessAllIsAskedFor) {
    lab::Result result;
    result.answer = "It depends.";
    result.found = {"a finding", "another"};
    for (int i = 0; i < 600; ++i) result.found[1] += " word";
    result.tables = {{"long", "a long table", {{"n"}, {}}},
                     {"short", "a short table", {{"n"}, {{std::int64_t{5555}}}}}};
    for (std::int64_t i = 0; i < 100; ++i) result.tables[0].figures.add(1000 + i);
    const std::vector<std::vector<double>> tall(300, std::vector<double>(40, 1));
    for (const char* name : {"p1", "p2", "p3"})
        result.pictures.push_back({name, std::string("title of ") + name, "x", "y", HeatMap{.values = tall}});
    const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    std::string brief = lab::text_of(nasty, result, {});
    const std::string all = lab::text_of(nasty, result, {}, true);
    EXPECT_LE(lines(brief), 40) << brief;
    for (const char* shown : {"It depends.", "a finding", "title of p1", "a short table"})
        EXPECT_TRUE(has(brief, shown)) << shown;
    for (const char* hidden : {"another", "title of p2", "1099"}) EXPECT_FALSE(has(brief, hidden)) << hidden;
    std::ranges::replace(brief, '\n', ' ');
    EXPECT_TRUE(has(brief, "--all adds 1 finding, 2 pictures, 1 table, the method.")) << brief;
    EXPECT_TRUE(has(all, "1099"));
    EXPECT_GT(lines(all), 400);
}

// More names than a screen has lines: variants are hidden before the encodings themselves, and the middle before the
// ends. --all shows every row.
TEST(LabText, ARankingFitsAScreenAndSaysWhatItHides) {
    const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    for (const int names : {5, 34, 60}) {
        SCOPED_TRACE(names);
        Curves curves{.references = {{"none", 0}}, .interval = "95 % interval"};
        lab::Series& series = curves.add("loss", Series::Style::points);
        for (int i = 0; i < names; ++i) {
            curves.x_names.push_back("name" + std::to_string(i) + (i % 4 == 1 ? "+more" : i % 4 == 3 ? ":k=1" : ""));
            series.add(i, i, i - 2, i + 2);
        }
        lab::Result result;
        for (int i = 0; i < 70; ++i) result.answer += "word" + std::to_string(i) + " ";
        result.pictures = {{"p", "a title", "encoding", "loss", curves}};
        result.tables = {{"t", "a table", {{"n"}, {{std::int64_t{3}}}}}};
        const std::string brief = lab::text_of(nasty, result, {}), all = lab::text_of(nasty, result, {}, true);
        EXPECT_LE(lines(brief), 40) << brief;
        int shown = 0;
        for (const std::string& name : curves.x_names) {
            EXPECT_TRUE(has(all, "\n" + name + " ")) << name;
            shown += has(brief, "\n" + name + " ");
        }
        EXPECT_TRUE(has(brief, "\nname0 ")) << brief;
        EXPECT_GE(shown, std::min(names, 20)) << brief;
        EXPECT_EQ(has(brief, std::to_string(names - shown) + " more rows: --all\n"), shown < names) << brief;
        for (int i = 0; names == 34 && i < names; i += 2)
            EXPECT_TRUE(has(brief, "\nname" + std::to_string(i) + " ")) << brief;
        EXPECT_FALSE(has(all, "more rows"));
    }
}

// Named values have a row each, whatever their number.
TEST(LabDraw, NamesEveryRowOfNamedValues) {
    Curves curves{.interval = "95 % interval"};
    lab::Series& series = curves.add("loss", Series::Style::points);
    for (int i = 0; i < 30; ++i) {
        curves.x_names.push_back("name" + std::to_string(i));
        series.add(i, i, i - 2, i + 2);
    }
    for (const bool color : {false, true}) {
        const std::string text =
            without_escapes(lab::draw({"p", "a title", "encoding", "loss", curves}, {.width = 60, .color = color}));
        for (const std::string& name : curves.x_names) EXPECT_TRUE(has(text, "\n" + name + " ")) << text;
        EXPECT_TRUE(has(text, " 29\n")) << text; // its value
        EXPECT_TRUE(has(text, "95 % interval"));
        EXPECT_LE(widest(text), 60) << text;
    }
}

TEST(LabText, DurationsAreNotRoundedUpFar) {
    for (const auto& [seconds, text] : {std::pair{0.2, "1 s"},
                                        {59.6, "60 s"},
                                        {90.0, "90 s"},
                                        {119.4, "119 s"},
                                        {120.0, "2 min"},
                                        {150.0, "2.5 min"},
                                        {580.0, "9.5 min"},
                                        {590.0, "10 min"},
                                        {1800.0, "30 min"}})
        EXPECT_EQ(lab::duration_text(seconds), text);
}

TEST(LabDraw, FitsTheScreenWhateverThePictureHolds) {
    for (Picture picture : awkward_pictures()) {
        SCOPED_TRACE(picture.name);
        if (picture.name == "log") picture.title = "a title of words " + std::string(60, 't') + " that goes on";
        for (const int width : {40, 80, 133})
            for (const bool color : {false, true}) {
                const std::string text = lab::draw(picture, {.width = width, .color = color});
                EXPECT_TRUE(has(text, picture.title.substr(0, 5)));
                if (picture.name != "log") { // its words are longer than a line
                    EXPECT_LE(widest(text), width);
                }
                EXPECT_EQ(text.find('\033') != std::string::npos,
                          color && picture.name != "none" && picture.name != "zero")
                    << text;
            }
    }
}

TEST(LabRender, CsvHasAllDigitsAndNamesTablesAndPictures) {
    lab::Result result = small_result();
    EXPECT_EQ(lab::csv_of(result),
              "# one: first\nname,value\n\"a,\"\"b\"\"\",0.3333333333333333\n<i>,nan\n# two: second\nn\n7\n"
              "# p: a 'picture'\nseries,x,y\ns,1,2\nr,,3\n");
    result.tables.clear();
    EXPECT_EQ(lab::csv_of(result), "series,x,y\ns,1,2\nr,,3\n");
}

TEST(LabRender, JsonHasEverything) {
    const Json json = read_json(lab::json_of(nasty, small_result(), "ordo lab nasty"));
    EXPECT_EQ(json["answer"], "It depends on < & >.");
    EXPECT_EQ(json["command"], "ordo lab nasty");
    EXPECT_EQ(json["found"][0], "a | b, [c] & 1/3");
    EXPECT_EQ(json["tables"][0]["rows"][0]["value"], 1.0 / 3);
    EXPECT_TRUE(json["tables"][0]["rows"][1]["value"].is_null());
    EXPECT_EQ(json["pictures"][0]["rows"][0]["y"], 2);
    EXPECT_EQ(json["pictures"][0]["title"], "a 'picture'");
}

TEST(LabRender, MarkdownKeepsTextFromBecomingMarkup) {
    const std::string text = lab::markdown_of(nasty, small_result(), "ordo lab nasty");
    EXPECT_TRUE(has(text, "1. x &lt; y\n"));
    EXPECT_TRUE(has(text, "\\[c\\]"));
    EXPECT_TRUE(has(text, "0.333333 |")); // six digits for readers
    EXPECT_TRUE(has(text, "```text\na 'picture'"));
    EXPECT_TRUE(has(text, "| &lt;i>"));
}

TEST(LabRender, MapsKeepTheirNamesAndBlanks) {
    const auto figures = lab::figures_of({"m", "m", "key", "query", HeatMap{.values = {{NAN, 2}}, .y_names = {"q"}}});
    EXPECT_EQ(tools::render(figures, tools::Format::csv), "query,0,1\nq,,2\n");
}

TEST(LabRender, NamesOfPointsAreKept) {
    const Picture picture{
        "n", "n", "x", "y",
        Curves{.series = {
                   {.label = "s", .x = {1, 2}, .y = {3, 4}, .names = {"p \"5\"", "68"}, .style = Series::Style::points},
                   {.label = "t", .x = {5}, .y = {6}}}}};
    EXPECT_EQ(tools::render(lab::figures_of(picture), tools::Format::csv),
              "series,x,y,name\ns,1,3,\"p \"\"5\"\"\"\ns,2,4,68\nt,5,6,\n");
    EXPECT_TRUE(has(lab::svg_of(picture), ">p &quot;5&quot;</text>"));
}

// Every point stays. Of names that would overlap, some are left out.
TEST(LabRender, NamesOfManyPointsDoNotOverlap) {
    lab::Series many{.label = "s", .style = Series::Style::points};
    for (int i = 0; i < 60; ++i) { // 30 points in a tiny cloud, 30 far from each other
        many.x.push_back(i < 30 ? 0.001 * i : i % 6 * 20);
        many.y.push_back(i < 30 ? 0 : 20.0 + i / 6 * 10);
        many.names.push_back("name" + std::to_string(i));
    }
    std::istringstream lines(lab::svg_of({"n", "n", "x", "y", Curves{.series = {many}}}));
    std::vector<std::pair<double, double>> places; // the middles of the names
    int points = 0;
    for (std::string line; std::getline(lines, line);) {
        points += line.starts_with("<path") && has(line, "z\" stroke-width=\"1.5\"");
        if (!has(line, ">name")) continue;
        auto& [x, y] = places.emplace_back();
        ASSERT_EQ(std::sscanf(line.c_str(), "<text transform=\"translate(%lf %lf)", &x, &y), 2) << line;
    }
    EXPECT_EQ(points, 60);
    EXPECT_GE(places.size(), 30u);
    EXPECT_LT(places.size(), 40u);
    // In pixels; a name has a height of 12 and a width of 33 or more.
    for (const auto& a : places)
        for (const auto& b : places)
            EXPECT_TRUE(&a == &b || std::abs(a.first - b.first) > 33 || std::abs(a.second - b.second) > 11.8);
}

} // namespace
