// SPDX-License-Identifier: MIT
// Every verb that shows progress, in terminals of 40 and 80 columns. The progress is visible, never wraps, and
// disappears before the result.
#include "tests/tools/models.h"
#include "tests/tools/terminal.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace ordo::test {
namespace {

// The lines of a screen that shows only this text.
std::vector<std::string> screen_of(int columns, const std::string& text) {
    Screen screen(columns);
    for (const char c : text) screen.write(c == '\n' ? "\r\n" : std::string(1, c));
    return screen.lines();
}

bool showed(const Screen& screen, const std::string& phrase) {
    const auto& all = screen.history();
    return std::any_of(all.begin(), all.end(), [&](const std::string& line) { return line.find(phrase) != line.npos; });
}

// Runs the words and expects success. The live line must begin with the phrase once and never wrap.
Watched expect_live(const std::vector<std::string>& words, int columns, const std::string& phrase) {
    Watched watched = run_in_terminal(words, columns);
    EXPECT_EQ(watched.code, 0) << watched.written;
    EXPECT_EQ(watched.screen.floods(), 0) << watched.written;
    EXPECT_TRUE(showed(watched.screen, phrase)) << "lacks " << phrase << ": " << watched.written;
    for (const std::string& line : watched.screen.lines())
        EXPECT_EQ(line.find(phrase), line.npos) << "left behind at " << columns << " columns: " << line;
    return watched;
}

// The bytes between live lines are the result's, and the result begins on a line of its own.
TEST(ShownProgress, BenchLeavesItsHeaderAlone) {
    const std::vector<std::string> words{"bench", model_file("rope"), "-p", "8", "-n", "0", "-r", "2", "-t",
                                         "1",     "--format",         "csv"};
    std::vector<std::string> quiet = words;
    quiet.push_back("-q");
    const std::string csv = out_of(quiet);
    const std::string header = csv.substr(0, csv.find('\n'));
    for (const int columns : {40, 80}) {
        const Watched watched = expect_live(words, columns, "rope.safetensors t1, limits");
        EXPECT_NE(watched.written.find("\r\033[K" + header + "\r\n"), std::string::npos) << watched.written;
        const std::vector<std::string> expected = screen_of(columns, header), seen = watched.screen.lines();
        EXPECT_NE(std::search(seen.begin(), seen.end(), expected.begin(), expected.end()), seen.end());
    }
}

// The parts of the result that do not depend on time appear on the screen as in a file.
TEST(ShownProgress, PerplexityAndTheLabLeaveTheirResultAlone) {
    const std::vector<std::pair<std::vector<std::string>, std::string>> runs = {
        {{"perplexity", model_file("rope"), "--length", "8,16", "--format", "csv"}, "length 8: document 1 of "},
        {{"lab", "tables", "--length", "16", "--format", "csv"}, "tables: alibi"},
    };
    for (const auto& [words, phrase] : runs) {
        std::vector<std::string> quiet = words;
        quiet.push_back("-q");
        const std::string result = out_of(quiet);
        for (const int columns : {40, 80})
            EXPECT_EQ(expect_live(words, columns, phrase).screen.lines(), screen_of(columns, result)) << words[0];
    }
}

TEST(ShownProgress, ConvertShowsItsTensorsAndItsMeasuring) {
    const TempDir directory;
    for (const int columns : {40, 80}) {
        const std::string out = directory.path() / (std::to_string(columns) + ".safetensors");
        const Watched watched =
            expect_live({"convert", model_file("rope"), out, "--dtype", "q8_0"}, columns, "tensor 1 of ");
        EXPECT_TRUE(showed(watched.screen, "accuracy: document 1 of ")) << watched.written;
    }
}

// The experiment is named in 40 columns too.
TEST(ShownProgress, TheReportSaysHowFarItIs) {
    for (const int columns : {40, 80}) {
        const TempDir directory;
        const auto stop = [](const std::string& written) {
            return written.find("2/") == std::string::npos ? 0 : SIGINT; // a full report takes minutes
        };
        const Watched watched =
            run_in_terminal({"lab", "report", directory.path() / "report", "--quick"}, columns, stop);
        EXPECT_EQ(watched.code, 130) << watched.written;
        EXPECT_EQ(watched.screen.floods(), 0) << watched.written;
        EXPECT_TRUE(showed(watched.screen, "] 1/")) << watched.written;
        EXPECT_TRUE(showed(watched.screen, " left, ")) << watched.written;
        for (const std::string& line : watched.screen.lines()) EXPECT_EQ(line.find("] 1/"), line.npos) << line;
    }
}

// Ctrl-C ends such a verb at once and leaves an empty line for the shell.
TEST(ShownProgress, AnInterruptWipesIt) {
    const auto stop = [](const std::string& written) {
        return written.find("round 1/1000") == std::string::npos ? 0 : SIGINT;
    };
    const Watched watched =
        run_in_terminal({"bench", model_file("rope"), "-p", "8", "-n", "0", "-r", "1000", "-t", "1"}, 80, stop);
    EXPECT_EQ(watched.code, 130);
    for (const std::string& line : watched.screen.lines()) EXPECT_EQ(line.find("round"), line.npos) << line;
}

// File names may contain control characters.
TEST(ShownProgress, NamesOfFilesCannotSteerTheTerminal) {
    const TempDir directory;
    const std::string file = directory.path() / "a\033[31mb\nc.safetensors";
    std::filesystem::copy(model_file("rope"), file);
    const Watched watched = run_in_terminal({"bench", file, "-p", "8", "-n", "0", "-r", "1", "-t", "1"}, 80);
    EXPECT_EQ(watched.code, 0) << watched.written;
    EXPECT_EQ(watched.written.find("\033[31m"), std::string::npos) << watched.written;
    EXPECT_TRUE(showed(watched.screen, "a\\x1b[31mb\\x0ac.safetensors")) << watched.written;
}

} // namespace
} // namespace ordo::test
