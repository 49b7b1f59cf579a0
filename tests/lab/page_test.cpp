// SPDX-License-Identifier: MIT
// The page of ordo lab report.
#include "tests/lab/has.h"
#include "tests/lab/nasty.h"
#include "tools/lab/drawing/render.h"
#include "tools/lab/report/report.h"

#include <set>

namespace {

using namespace ordo;
using namespace ordo::lab::test;

TEST(LabPage, NothingBecomesMarkup) {
    EXPECT_EQ(lab::escaped_html("<a href=\"x\">'&'\x1b</a>"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;");
    const std::vector<lab::Outcome> outcomes{
        {.experiment = &nasty, .command = "ordo lab <script>", .result = small_result()},
        {.experiment = &nasty, .error = "<b>failed</b>"}};
    const std::string page = lab::page_html(outcomes, {"v", "m", "c"});
    for (const char* tag : {"lab <script", "<b>", "<i>"}) EXPECT_FALSE(has(page, tag));
    EXPECT_TRUE(has(page, "a &lt; b &amp; c"));
    EXPECT_TRUE(has(page, "&lt;b&gt;failed&lt;/b&gt;"));
    for (const char* outside : {"src=", "url("}) EXPECT_FALSE(has(page, outside));
}

// A card by lesson for each question, a list of them, and sections that are closed.
TEST(LabPage, HasACardForEachQuestionAndClosedSections) {
    std::vector<lab::Outcome> outcomes;
    for (const lab::Experiment* experiment : lab::experiments())
        outcomes.push_back({.experiment = experiment, .command = "c", .result = small_result()});
    const std::string page = lab::page_html(outcomes, {"v", "m", "c"});
    std::size_t at = page.find("<section id=\"answers\">");
    for (const lab::Lesson& lesson : lab::lessons()) {
        ASSERT_NE(at = page.find("<h2>" + std::string(lesson.title) + "</h2>", at), std::string::npos);
        for (const lab::Experiment* experiment : lesson.experiments) {
            const std::string name(experiment->name);
            EXPECT_NE(page.find("<a class=\"card\" href=\"#" + name + "\">", at), std::string::npos) << name;
            EXPECT_TRUE(has(page, "<details class=\"experiment\" id=\"" + name + "\"><summary>")) << name;
            EXPECT_LT(page.find("<a href=\"#" + name + "\">"), at) << name; // the list
        }
    }
}

// Links lead into the page and to the files of tables and pictures. A long table is only a link.
TEST(LabPage, LinksItsNumbers) {
    lab::Result result = small_result();
    tools::Figures many{{"n"}, {}};
    for (std::int64_t i = 0; i < 300; ++i) many.add(7'000'000 + i);
    result.tables.push_back({"many", "a long table", many});
    const std::vector<lab::Outcome> outcomes{{.experiment = &nasty, .command = "c", .result = result}};
    const std::string page = lab::page_html(outcomes, {"v", "m", "c"});
    EXPECT_TRUE(has(page, "<a href=\"data/nasty-many.csv\">300 rows as CSV</a>"));
    EXPECT_FALSE(has(page, "7000042"));
    std::set<std::string> links;
    for (std::size_t at = 0; (at = page.find("href=\"", at)) != std::string::npos;) {
        at += 6;
        links.insert(page.substr(at, page.find('"', at) - at));
    }
    EXPECT_EQ(links, (std::set<std::string>{"#nasty", "#answers", "data/nasty-one.csv", "data/nasty-two.csv",
                                            "data/nasty-many.csv", "data/nasty-p.csv"}));
}

// The introduction, then questions and answers; the machine at the end. Words between backticks are code,
// and a single backtick stays a backtick.
TEST(LabPage, BeginsWithAnIntroductionAndAnswers) {
    lab::Result result = small_result();
    result.answer = "run `ordo lab x` <again>";
    result.found = {"5 ` more"};
    const std::vector<lab::Outcome> outcomes{{.experiment = &nasty, .command = "c", .result = result},
                                             {.experiment = &nasty, .error = "failed"}};
    const std::string page = lab::page_html(outcomes, {"v", "machine", "c"});
    const std::string answer = "run <code>ordo lab x</code> &lt;again&gt;";
    const std::vector<std::string> order{"<h1>Positional encodings by experiment</h1>",
                                         "This page asks 2 questions",
                                         "<h3>a &lt; b &amp; c</h3>", // a question is a heading
                                         answer,
                                         "No result.",
                                         "<summary>a &lt; b &amp; c</summary>",
                                         answer,
                                         "5 ` more",
                                         "first",
                                         "How this page was made",
                                         "machine\n"};
    std::size_t at = 0;
    for (const std::string& part : order) {
        at = page.find(part, at);
        ASSERT_NE(at, std::string::npos) << part;
        at += part.size();
    }
    EXPECT_TRUE(has(page, "prefers-color-scheme: dark"));
    EXPECT_FALSE(has(page, "quick run"));
    EXPECT_TRUE(has(lab::page_html(outcomes, {"v", "m", "ordo lab report --quick d"}), "quick run"));
    const std::string text = lab::page_markdown(outcomes, {"v", "machine", "c"});
    const std::size_t first = text.find("- [a < b & c](#nasty) run `ordo lab x` &lt;again>");
    EXPECT_NE(first, std::string::npos) << text;
    EXPECT_LT(first, text.find("How this page was made"));
}

TEST(LabPage, HasEachTitleOnceAndSentencesUnfolded) {
    lab::Result result = small_result();
    const std::string fact(100, 'f');
    result.tables = {{"claims", "claims in full", {{"number", "the_fact"}, {{std::int64_t{4}, fact}}}}};
    const std::vector<lab::Outcome> outcomes{{.experiment = &nasty, .command = "c", .result = result}};
    const std::string page = lab::page_html(outcomes, {"v", "m", "c"});
    const std::size_t title = page.find("a &#39;picture&#39;");
    EXPECT_NE(title, std::string::npos);
    EXPECT_FALSE(has(page.substr(title + 1), "a &#39;picture&#39;"));
    EXPECT_TRUE(has(page, "<title>y against x</title>"));
    const std::size_t row = page.find("<dt>the fact</dt><dd>" + fact + "</dd>");
    EXPECT_NE(row, std::string::npos) << page;
    EXPECT_LT(row, page.find("<details class=\"made\"")); // only the method is folded in an open section
}

} // namespace
