// SPDX-License-Identifier: MIT
// Tables as text, Markdown and CSV, with any content in their cells.
#include "tools/terminal/output.h"

#include <gtest/gtest.h>

namespace {

using namespace ordo;

TEST(CliFigures, MarkdownKeepsCellsFromBecomingMarkup) {
    const tools::Figures links{{"[a](b)"}, {{std::string("<b>|[c](d)")}}};
    EXPECT_EQ(tools::render(links, tools::Format::md), "| \\[a\\](b)         |\n|------------------|\n"
                                                       "| &lt;b>\\|\\[c\\](d) |\n");
}

// A spreadsheet reads these first characters as a formula. A number may have a sign, and columns of numbers are
// unchanged.
TEST(CliFigures, CsvKeepsTextFromBecomingAFormula) {
    tools::Figures figures{{"text", "mixed"}, {}};
    figures.add(std::string("=1+2"), std::string("-"));
    figures.add(std::string("+cmd"), 2.5);
    figures.add(std::string("-a"), -1.0);
    figures.add(std::string("@b,c"), std::int64_t{-2});
    figures.add(std::string("-1.5"), tools::Cell{});
    figures.add(std::string("+7"), tools::Cell{});
    figures.add(std::string("a=b"), tools::Cell{});
    EXPECT_EQ(tools::render(figures, tools::Format::csv),
              "text,mixed\n'=1+2,-\n'+cmd,2.5\n'-a,-1\n\"'@b,c\",-2\n-1.5,\n+7,\na=b,\n");
}

TEST(CliFigures, TablesEscapeWhatATerminalWouldObey) {
    const tools::Figures figures{{"a"}, {{std::string("\033]52;c;x\a\n\u202e")}}};
    EXPECT_EQ(tools::render(figures, tools::Format::text), "a\n\\x1b]52;c;x\\x07\\x0a\\xe2\\x80\\xae\n");
}

} // namespace
