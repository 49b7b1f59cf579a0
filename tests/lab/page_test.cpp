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

// A card for each question in one of five groups, a list of them, and sections that are closed.
TEST(LabPage, HasACardForEachQuestionAndClosedSections) {
    std::vector<lab::Outcome> outcomes;
    for (const lab::Experiment* experiment : lab::experiments())
        outcomes.push_back({.experiment = experiment, .command = "c", .result = small_result()});
    const std::string page = lab::page_html(outcomes, {"v", "m", "c"});
    const std::size_t begin = page.find("<section id=\"answers\">"), end = page.find("</section>", begin);
    const std::string cards = page.substr(begin, end - begin);
    std::size_t groups = 0;
    for (std::size_t at = 0; (at = cards.find("<h2>", at)) != std::string::npos; ++at) ++groups;
    EXPECT_EQ(groups, 5u);
    EXPECT_LT(cards.find("<h2>"), cards.find("<div class=\"cards\">")); // no group without a title
    EXPECT_EQ(cards.find("</h2>\n<div class=\"cards\">\n</div>"), std::string::npos);
    for (const lab::Experiment* experiment : lab::experiments()) {
        const std::string name(experiment->name);
        EXPECT_TRUE(has(cards, "<a class=\"card\" href=\"#" + name + "\">")) << name;
        EXPECT_TRUE(has(page, "<details class=\"experiment\" id=\"" + name + "\"><summary>")) << name;
        EXPECT_LT(page.find("<a href=\"#" + name + "\">"), begin) << name; // the list
    }
    std::size_t titled = 0;
    for (std::size_t at = 0; (at = cards.find("<div class=\"cards\">", at)) != std::string::npos; ++at) ++titled;
    EXPECT_EQ(titled, groups);
}

// Claims in many sentences do not fill the page of the answers.
TEST(LabPage, ManySentencesAreAPageOfTheirOwn) {
    lab::Result result = small_result();
    tools::Figures many{{"claim"}, {}};
    for (int i = 0; i < 30; ++i) many.add("<claim> " + std::to_string(i) + std::string(100, 'f'));
    result.tables.push_back({"claims", "claims in full", many});
    const std::vector<lab::Outcome> outcomes{{.experiment = &nasty, .command = "c", .result = result}};
    const std::string page = lab::page_html(outcomes, {"v", "m", "c"});
    EXPECT_TRUE(has(page, "<a href=\"nasty-claims.html\">All 30 on a page</a>"));
    EXPECT_FALSE(has(page, "claim&gt; 7f"));
    const auto pages = lab::own_pages(outcomes);
    ASSERT_EQ(pages.size(), 1u);
    EXPECT_EQ(pages[0].first, "nasty-claims.html");
    EXPECT_TRUE(has(pages[0].second, "&lt;claim&gt; 7f"));
    EXPECT_TRUE(has(pages[0].second, "<a href=\"index.html\">"));
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
