// SPDX-License-Identifier: MIT
// Text in lines of whole words, and columns that grow in parallel. Widths of characters follow Unicode Standard Annex
// 11.
#include "tools/terminal/columns.h"

#include "tests/tools/models.h"
#include "tests/tools/terminal.h"

#include <gtest/gtest.h>
#include <regex>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;
using Lines = std::vector<std::string>;

Lines lines_of(int width, const std::vector<std::string>& pieces) {
    tools::Paragraph paragraph(width);
    for (const std::string& piece : pieces) paragraph.append(piece);
    Lines lines;
    for (const auto& line : paragraph.lines()) lines.push_back(line.text);
    return lines;
}

TEST(Paragraph, KnowsHowWideCharactersAre) {
    EXPECT_EQ(tools::columns_of("abc"), 3);
    EXPECT_EQ(tools::columns_of("\u00e9"), 1);
    EXPECT_EQ(tools::columns_of("e\u0301"), 1);      // a mark over the letter
    EXPECT_EQ(tools::columns_of("\u6f22\u5b57"), 4); // East Asian wide
    EXPECT_EQ(tools::columns_of("\U0001f600"), 2);   // an emoji
    EXPECT_EQ(tools::columns_of("\uff21\u2026"), 3); // full width; an ellipsis is narrow
}

TEST(Paragraph, KeepsWordsWhole) {
    EXPECT_EQ(lines_of(10, {"one two three"}), (Lines{"one two", "three"}));
    EXPECT_EQ(lines_of(10, {"one two th", "ree"}), (Lines{"one two", "three"})); // in whatever pieces it arrives
    EXPECT_EQ(lines_of(7, {"one two three"}), (Lines{"one two", "three"}));      // a space may stand at the edge
    EXPECT_EQ(lines_of(4, {"abcdefghij k"}), (Lines{"abcd", "efgh", "ij k"}));   // longer than a line
    EXPECT_EQ(lines_of(9, {"ab abcdefghij"}), (Lines{"ab", "abcdefghi", "j"}));
    EXPECT_EQ(lines_of(9, {"a\n\nb"}), (Lines{"a", "", "b"}));
    EXPECT_EQ(lines_of(5, {"\u6f22\u5b57\u6f22"}), (Lines{"\u6f22\u5b57", "\u6f22"})); // five columns hold two
    EXPECT_EQ(lines_of(80, {"a\x1b[2Jb\r"}), (Lines{"a\\x1b[2Jb"}));                   // controls are escaped
    EXPECT_EQ(tools::wrapped("one two three", 8), "one two\nthree");
}

TEST(Paragraph, ItsLinesSayWhereThePromptEnds) {
    tools::Paragraph paragraph(10);
    paragraph.append("one two th", true);
    paragraph.append("ree four");
    ASSERT_EQ(paragraph.lines().size(), 2u);
    EXPECT_EQ(paragraph.lines()[0].marked, 7u);
    EXPECT_EQ(paragraph.lines()[1].text, "three four");
    EXPECT_EQ(paragraph.lines()[1].marked, 2u);
}

TEST(Columns, GrowSideBySideAndNothingAboveTheLastRowChanges) {
    for (const bool color : {false, true}) {
        const Watched watched = watch(26, [color] {
            tools::Columns columns(2, {true, 24, color}); // two columns of ten
            columns.append(0, "one ", true);
            columns.append(1, "one ", true);
            columns.show();
            for (const char* piece : {"two ", "three ", "four ", "five "}) {
                columns.append(0, piece);
                columns.show();
            }
            columns.append(1, "tw");
            columns.show();
            columns.append(1, "elfth");
            columns.show();
            columns.close();
        });
        EXPECT_EQ(watched.code, 0);
        EXPECT_EQ(watched.screen.floods(), 0);
        EXPECT_EQ(watched.screen.lines(), (Lines{"one two      one", "three four   twelfth", "five"}))
            << watched.written;
        EXPECT_EQ(watched.written.find("\033[33m") != std::string::npos, color);
    }
}

// Tables wrap like the lab's: into blocks of columns or one line for each cell. No line is wider than the terminal.
TEST(Columns, WideTablesWrapOnATerminal) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"encodings"},
          {"perplexity", model_file("rope"), "--length", "8,16", "-q"},
          {"encodings", "rope"},
          {"encodings", "-m", model_file("random")},
          {"bench", "-q", "-p", "4", "-n", "0", "-r", "1", "-t", "1", "--layers", "1", "--encodings", "rope"}}) {
        const Watched watched = run_in_terminal(command, 64);
        EXPECT_EQ(watched.code, 0) << watched.written;
        std::istringstream written(watched.written);
        std::size_t lines = 0;
        for (std::string line; std::getline(written, line); ++lines) EXPECT_LE(tools::columns_of(line), 64) << line;
        EXPECT_GT(lines, 8u);
        // The words are the same as in a pipe, though their lines may differ. A table may be split into blocks.
        if (command.size() != 2) continue;
        std::istringstream piped(run_program(command).out);
        const std::string words = " " + std::regex_replace(watched.written, std::regex("\\s+"), " ");
        for (std::string word; piped >> word;)
            EXPECT_NE(words.find(" " + word + " "), std::string::npos) << word << " in\n" << watched.written;
    }
    // Each block repeats the columns that identify the rows.
    const std::string bench = run_in_terminal({"bench", "-v", "-q", "-p", "4", "-n", "0", "-r", "1", "-t", "1",
                                               "--layers", "1", "--encodings", "rope"},
                                              64)
                                  .written;
    std::size_t headers = 0;
    for (std::size_t at = 0; (at = bench.find("model  type  test", at)) != bench.npos; ++at) ++headers;
    EXPECT_GE(headers, 2u) << bench;
}

} // namespace
