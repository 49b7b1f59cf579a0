// SPDX-License-Identifier: MIT
// ordo generate --encodings, and the output of generate on a terminal. The alphabet model's texts follow from its
// definition (models.h).
#include "tests/tools/models.h"
#include "tests/tools/terminal.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <regex>

namespace {

using namespace ordo::test;

const std::vector<std::string> three{"generate", "-p", "a",  "-n",          "3",
                                     "--temp",   "0",  "-q", "--encodings", "none;rope;alibi"};

std::vector<std::string> with_words(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

bool matches(const std::string& text, const std::string& pattern) {
    return std::regex_match(text, std::regex(pattern));
}

TEST(CliSideBySide, OneUnderTheOtherWhenPiped) {
    const std::string out = out_of(three);
    std::string expected;
    for (const char* name : {"none", "rope", "alibi"})
        expected +=
            std::string(expected.empty() ? "" : "\n") + "encoding: " + name + "\nabcd\n\n3 tokens, [0-9]+ tokens/s\n";
    EXPECT_TRUE(matches(out, expected)) << out << "instead of\n" << expected;
    const std::string none =
        out_of({"generate", "-p", "a", "-n", "0", "-q", "--encodings", "none", "--no-display-prompt"});
    EXPECT_NE(none.find("encoding: none\n\n\n0 tokens"), std::string::npos) << none;
}

// 80 columns hold three of 24 with 3 between them.
TEST(CliSideBySide, InColumnsOnATerminal) {
    const Watched watched = run_in_terminal(three, 80);
    EXPECT_EQ(watched.code, 0) << watched.written;
    EXPECT_EQ(watched.screen.floods(), 0);
    const auto lines = watched.screen.lines();
    ASSERT_EQ(lines.size(), 5u) << watched.written; // no losses: each model would score its own text
    const std::string gap(20 + 3, ' ');
    EXPECT_EQ(lines[0], "none" + gap + "rope" + gap + "alibi");
    EXPECT_EQ(lines[1], "----" + gap + "----" + gap + "-----");
    EXPECT_EQ(lines[2], "abcd" + gap + "abcd" + gap + "abcd");
    EXPECT_EQ(lines[3], "");
    EXPECT_TRUE(matches(lines[4], "([0-9]+ tokens/s *){3}")) << lines[4];
    // The columns grow together: when the first has two letters, no other column has three.
    const auto& history = watched.screen.history();
    EXPECT_TRUE(std::any_of(history.begin(), history.end(), [&](const std::string& line) {
        return line.starts_with("ab" + std::string(25, ' ') + "a");
    })) << watched.written;
}

TEST(CliSideBySide, ANarrowTerminalHasFewerColumns) {
    const Watched watched = run_in_terminal(three, 60); // two of 28
    const auto lines = watched.screen.lines();
    ASSERT_EQ(lines.size(), 11u) << watched.written;
    EXPECT_EQ(lines[0], "none" + std::string(24 + 3, ' ') + "rope");
    EXPECT_EQ(lines[6], "alibi");
    EXPECT_EQ(lines[8], "abcd");
    EXPECT_EQ(watched.screen.floods(), 0);
}

// The file was trained with rope. generate forces alibi onto the model and warns about it, and learned cannot be
// forced.
TEST(CliSideBySide, AModelThatIsGivenTakesAllOfThem) {
    const Outcome forced = run_program({"generate", "-m", model_file("random"), "-p", "The", "-s", "5", "-n", "20",
                                        "--encodings", "rope:theta=500;alibi;none"});
    expect_success(forced);
    EXPECT_NE(forced.err.find("running with 'alibi"), std::string::npos) << forced.err;
    EXPECT_EQ(forced.err.find("running with 'rope"), std::string::npos) << forced.err;
    expect_error(
        run_program({"generate", "-m", model_file("random"), "-p", "The", "-q", "--encodings", "rope;learned"}), 2,
        "encoding.learned.weight");
    expect_error(run_program({"generate", "-p", "a", "--encodings", "none;sink"}), 2, "no shipped weights");
    expect_error(run_program({"generate", "-p", "a", "--encodings", "none;;rope"}), 2, "expected a spec");
}

// Each column shows the text of a single run with the same seed.
TEST(CliSideBySide, TheTextsAreThoseOfSingleRuns) {
    const std::vector<std::string> words{"generate", "-m", model_file("random"), "-p", "The", "-s", "5", "-n",
                                         "20",       "-q"};
    const std::string both = out_of(with_words(words, {"--encodings", "rope:theta=500;alibi"}));
    for (const char* spec : {"rope:theta=500", "alibi"}) {
        const std::string alone = out_of(with_words(words, {"--encoding", spec, "--force-encoding"}));
        EXPECT_NE(both.find("encoding: " + std::string(spec) + "\n" + alone), std::string::npos) << spec;
    }
}

TEST(CliSideBySide, CtrlCStopsAll) {
    const Outcome outcome = run_program(
        {"generate", "-p", "Z", "-n", "-1", "-c", "20000", "--temp", "0", "-q", "--encodings", "rope;alibi"},
        {.signal = SIGINT, .signal_after = 400});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_NE(outcome.out.find("encoding: alibi"), std::string::npos);
}

// ---- One text on a terminal -----------------------------------------------------------------------

TEST(CliTerminal, ThePromptHasAColour) {
    const std::vector<std::string> words{"generate", "-p", "ab", "-n", "2", "--temp", "0", "-q"};
    EXPECT_NE(run_in_terminal(words, 80).written.find("\033[33mab\033[0mc"), std::string::npos);
    for (const Environment& plain : {Environment{{"NO_COLOR", "1"}}, Environment{{"TERM", "dumb"}}}) {
        const Watched watched = run_in_terminal(words, 80, {}, plain);
        EXPECT_EQ(watched.written.find("\033[33m"), std::string::npos);
        EXPECT_EQ(watched.screen.lines(), std::vector<std::string>{"abcd"});
    }
}

TEST(CliTerminal, WordsAreNotBrokenAtTheEdge) {
    const Watched watched =
        run_in_terminal({"generate", "-p", "some words that go on a", "-n", "5", "--temp", "0", "-q"}, 26);
    EXPECT_EQ(watched.screen.lines(), (std::vector<std::string>{"some words that go on", "abcdef"})) << watched.written;
}

TEST(CliTerminal, ALongPromptSaysHowFarItIs) {
    const Watched watched = run_in_terminal(
        {"generate", "-p", std::string(1200, 'Z'), "-n", "1", "--temp", "0", "-c", "2000", "--encoding", "alibi"}, 80);
    EXPECT_EQ(watched.code, 0);
    const auto& history = watched.screen.history();
    EXPECT_TRUE(std::any_of(history.begin(), history.end(), [](const std::string& line) {
        return line.find("prompt: 512 of 1,201 tokens") != std::string::npos;
    })) << watched.written;
    for (const std::string& line : watched.screen.lines()) EXPECT_EQ(line.find("of 1,201"), std::string::npos);
}

// The lab's pictures use their own colours.
TEST(CliLab, PicturesHaveColoursOnATerminalUnlessNobodyWantsThem) {
    const auto escapes = [](const Environment& environment) {
        const Watched watched = run_in_terminal({"lab", "slopes", "--quick", "-q"}, 80, {}, environment);
        EXPECT_EQ(watched.code, 0) << watched.written;
        EXPECT_GT(watched.written.size(), 1000u);
        return std::count(watched.written.begin(), watched.written.end(), '\033');
    };
    EXPECT_GT(escapes({}), 10);
    EXPECT_EQ(escapes({{"NO_COLOR", "1"}}), 0);
    EXPECT_EQ(escapes({{"TERM", "dumb"}}), 0);
}

} // namespace
