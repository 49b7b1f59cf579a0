// SPDX-License-Identifier: MIT
// The live line on a terminal never wraps, and nothing of it remains.
#include "tests/tools/terminal.h"
#include "tools/terminal/output.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ordo::test {
namespace {

using Lines = std::vector<std::string>;

// Checks the terminal model itself against results worked out by hand.
TEST(LiveLine, TheScreenIsThatOfATerminal) {
    Screen screen(5);
    screen.write("abc\rxy\r\n");
    EXPECT_EQ(screen.lines(), (Lines{"xyc"}));
    EXPECT_EQ(screen.floods(), 0);
    screen.write("12345");
    EXPECT_EQ(screen.lines(), (Lines{"xyc", "12345"}));
    screen.write("6");
    EXPECT_EQ(screen.lines(), (Lines{"xyc", "12345", "6"}));
    screen.write("\r7\033[K\r\033[K");
    EXPECT_EQ(screen.floods(), 2);
    EXPECT_EQ(screen.lines(), (Lines{"xyc", "12345"}));
    EXPECT_EQ(screen.history(), (Lines{"abc", "xyc", "12345", "6", "7"}));
}

// 30 of 120 steps took 10 seconds, so the other 90 take 30.
TEST(LiveLine, TimeLeftIsThatOfWorkThatGoesOnAsItWent) {
    EXPECT_DOUBLE_EQ(tools::seconds_left(10, 30, 120), 30);
    EXPECT_DOUBLE_EQ(tools::seconds_left(10, 120, 120), 0);
    EXPECT_EQ(tools::left_text(65.9), "1:05 left");
    EXPECT_EQ(tools::left_text(3600), "60:00 left");
}

TEST(LiveLine, IsCutToTheTerminalAndGoneBeforeAnythingElseIsWritten) {
    const std::string wide(200, 'w'), accents = "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9";
    for (const int columns : {10, 40, 80}) {
        const Watched watched = watch(columns, [&] {
            tools::LiveLine line;
            line.show("short");
            line.show(wide);
            line.show(wide);
            line.show(accents);
            tools::write_out("result\n");
            line.show(wide);
            tools::write_message("told");
            line.show("last");
        });
        EXPECT_EQ(watched.code, 0);
        EXPECT_EQ(watched.screen.floods(), 0) << columns;
        const auto& history = watched.screen.history();
        ASSERT_GE(history.size(), 5u);
        EXPECT_EQ(history[1], std::string(static_cast<std::size_t>(columns - 1), 'w'));
        EXPECT_EQ(history[3], std::string(static_cast<std::size_t>(std::min(columns - 1, 11)), '?'));
        ASSERT_GE(watched.screen.lines().size(), 2u) << columns;
        EXPECT_EQ(watched.screen.lines()[0], "result") << columns;
        EXPECT_EQ(watched.screen.lines()[1], std::string("ordo: told").substr(0, columns));
    }
}

TEST(LiveLine, IsNothingWhereStderrIsNoTerminal) {
    testing::internal::CaptureStderr();
    {
        tools::LiveLine line;
        line.show("text");
        tools::write_message("told");
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "ordo: told\n");
}

// If a terminal reports no width, the width is COLUMNS or 80.
TEST(LiveLine, ATerminalWithoutAWidthHasThatOfTheEnvironment) {
    for (const auto& [value, columns] : {std::pair{"60", 60u}, {"0", 80u}, {"-3", 80u}, {"wide", 80u}, {"60x", 80u}}) {
        const Watched watched = watch(0, [text = value] {
            ::setenv("COLUMNS", text, 1);
            tools::LiveLine().show(std::string(200, 'w'));
        });
        EXPECT_EQ(watched.written, "\r" + std::string(columns - 1, 'w') + "\033[K\r\033[K") << value;
    }
}

} // namespace
} // namespace ordo::test
