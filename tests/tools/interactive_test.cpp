// SPDX-License-Identifier: MIT
// ordo generate -i, in a pipe and in a terminal. The alphabet model writes the next letters of the alphabet.
#include "tests/tools/models.h"
#include "tests/tools/terminal.h"

#include <algorithm>
#include <chrono>
#include <gtest/gtest.h>
#include <regex>
#include <thread>

namespace {

using namespace ordo::test;

const std::vector<std::string> words{"generate", "-i", "-n", "3", "--temp", "0", "-q"};

std::string said(const std::string& input, std::vector<std::string> more = {}) {
    more.insert(more.begin(), words.begin(), words.end());
    const Outcome outcome = run_program(more, {.input = input});
    expect_success(outcome);
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
}

TEST(CliInteractive, ContinuesWhatIsTyped) {
    EXPECT_EQ(said("a\n"), "bcd\n");
    EXPECT_EQ(said("a\n\n"), "bcd\nefg\n");              // an empty line continues
    EXPECT_EQ(said("a\nx\n"), "bcd\n\u00e9!\n");         // the end-of-text token follows it
    EXPECT_EQ(said("a\n/again\n\n"), "bcd\nbcd\nefg\n"); // the text continues after one bcd, not two
    EXPECT_EQ(said("a\n/new\nm\n"), "bcd\nnop\n");
    EXPECT_EQ(said("a"), "bcd\n"); // the last line has no newline
    EXPECT_EQ(said("a\n/quit\na\n"), "bcd\n");
    EXPECT_EQ(said(""), "");
    EXPECT_EQ(said("\n", {"-p", "a"}), "a\nbcd\nefg\n");
    EXPECT_EQ(said("a\\\nm\n"), "nop\n"); // one text of two lines
    EXPECT_EQ(said("a\\\n"), said("a\\"));
}

TEST(CliInteractive, OtherEncodingsSeedsAndModels) {
    EXPECT_EQ(said("a\n/encoding alibi\n\n/model " + model_file("none") + "\n\n"), "bcd\nefg\nhij\n");
    EXPECT_EQ(said("a\n/model '" + model_file("alibi") + "'\n\n"), "bcd\nefg\n"); // a path as a terminal pastes it
    // A seed gives the text of a single run. /again removes that text and writes it again under the new seed.
    std::vector<std::string> single{"generate", model_file("random"), "-p", "The", "-n", "9", "-q", "-s"};
    std::vector<std::string> talk{"generate", model_file("random"), "-i", "-n", "9", "-q"};
    single.push_back("3");
    const std::string of_three = out_of(single).substr(3);
    single.back() = "4";
    const std::string of_four = out_of(single).substr(3);
    ASSERT_NE(of_three, of_four);
    const Outcome outcome =
        run_program(talk, {.input = "/seed 3\nThe\n/seed 4\n/again\n/seed 3\n/again\n/encoding alibi\n/again\n"});
    expect_success(outcome);
    EXPECT_TRUE(outcome.out.starts_with(of_three + of_four + of_three)) << outcome.out;
    EXPECT_NE(outcome.out, of_three + of_four + of_three + of_three);
}

// With -v, /again names its new seed. Without a value, /seed and /encoding show the current ones.
TEST(CliInteractive, AgainTakesTheNextSeed) {
    std::vector<std::string> single{"generate", model_file("random"), "-p", "The", "-n", "9", "-q", "-s", "3"};
    std::string texts;
    for (const char* seed : {"3", "4", "5"}) {
        single.back() = seed;
        texts += out_of(single).substr(3);
    }
    const std::vector<std::string> talk{"generate", model_file("random"), "-i", "-n", "9"};
    const Outcome outcome =
        run_program(talk, {.input = "/seed 3 \t\nThe\n/again\n/again\n"}); // spaces around the seed are ignored
    expect_success(outcome);
    EXPECT_EQ(outcome.out, texts);
    EXPECT_EQ(outcome.err, "");
    std::vector<std::string> verbose = talk;
    verbose.push_back("-v");
    const Outcome told = run_program(verbose, {.input = "/seed 3\nThe\n/again\n/again\n/seed\n/encoding\n"});
    EXPECT_NE(told.err.find("ordo: seed: 4\n"), std::string::npos) << told.err;
    EXPECT_TRUE(told.out.ends_with("5\nrope:theta=500,pairing=adjacent,width=8\n")) << told.out; // the spec in full
    // Another model or seed gives another text by itself.
    const Outcome other = run_program(talk, {.input = "/seed 3\nThe\n/encoding alibi\n/again\n/seed 3\n/again\n"});
    EXPECT_EQ(other.err.find("seed: "), std::string::npos) << other.err;
    EXPECT_NE(other.err.find("ordo: model: " + model_file("random") + ", encoding: alibi:max=8,power=1\n"),
              std::string::npos)
        << other.err;
    const Outcome loaded = run_program({"generate", "-i"}, {.input = "/encoding alibi\n/model " + model_file("none")});
    EXPECT_EQ(loaded.err, "ordo: model: " + model_file("alibi") + ", encoding: alibi:max=8,power=1\nordo: model: " +
                              model_file("none") + ", encoding: none\n");
}

// With greedy decoding the text cannot change under the same encoding. Under another one it may.
TEST(CliInteractive, AgainSaysWhenItCannotBeAnotherText) {
    const std::vector<std::string> talk{"generate", "-i", "-n", "3", "--temp", "0", "-m", model_file("rope")};
    const std::string same = "ordo: at a temperature of 0 the same text is written again\n";
    const Outcome outcome = run_program(talk, {.input = "a\n/again\n"});
    EXPECT_EQ(outcome.out, "bcd\nbcd\n");
    EXPECT_EQ(outcome.err, same);
    const Outcome seeded = run_program(talk, {.input = "a\n/seed 3\n/again\n"});
    EXPECT_EQ(seeded.err, "ordo: warning: /seed changes nothing at a temperature of 0\n" + same);
    const Outcome other = run_program(talk, {.input = "a\n/encoding alibi\n/again\n"});
    EXPECT_EQ(other.err.find(same), std::string::npos) << other.err;
    const Outcome anew = run_program(talk, {.input = "a\n/new\n/again\n"}); // the text is empty
    EXPECT_EQ(anew.err.find(same), std::string::npos) << anew.err;
    EXPECT_EQ(said("a\n/again\n"), "bcd\nbcd\n"); // -q prints no notes
}

TEST(CliInteractive, AMistakeIsSaidAndEndsNothing) {
    const Outcome outcome =
        run_program(words, {.input = "/bogus\n/seed x\n/encoding ropy\n/model /no/such\n/model\na\n"});
    expect_success(outcome);
    EXPECT_EQ(outcome.out, "bcd\n");
    EXPECT_TRUE(std::regex_match(outcome.err, std::regex("(ordo: .*\n){5}"))) << outcome.err;
    EXPECT_NE(outcome.err.find("unknown command '/bogus'; /help lists them"), std::string::npos);
    const std::string help = said("/help\n");
    EXPECT_NE(help.find("/encoding SPEC"), std::string::npos);
    EXPECT_TRUE(std::regex_match(help, std::regex("(.{1,80}\n)+"))) << help;
    for (const auto& [typed, meant] : {std::pair{"/enc alibi", "/encoding"}, {"/q", "/quit"}, {"/sede 3", "/seed"}})
        EXPECT_NE(run_program(words, {.input = typed}).err.find(std::string("; did you mean ") + meant + "?\n"),
                  std::string::npos)
            << typed;
    EXPECT_NE(run_program(words, {.input = "/"}).err.find("unknown command '/'; /help"), std::string::npos);
    EXPECT_NE(
        run_program(words, {.input = "/seed abc"}).err.find("/seed: expected -1 or a whole number from 0 to 1844"),
        std::string::npos);
    const Outcome full = run_program(words, {.input = std::string(80, 'Z') + "\na\n"});
    EXPECT_EQ(full.out, "bcd\n");
    EXPECT_NE(full.err.find("at most 64 tokens, found 81"), std::string::npos) << full.err;
    expect_error(run_program({"generate", "-i", "-f", "-"}), 2, "--file");
}

TEST(CliInteractive, ATextThatHasEndedSaysSo) {
    const Outcome outcome = run_program({"generate", "-i", "-n", "3", "--temp", "0"}, {.input = "x\n\n\n/new\na\n"});
    EXPECT_EQ(outcome.out, said("x\n") + "bcd\n");
    const std::string ended = "ordo: the text has ended; type more, or /again for another ending, or /new\n";
    EXPECT_EQ(outcome.err, ended + ended);
}

TEST(CliInteractive, AContextThatIsFullOrWasShiftedIsNamedWithItsSize) {
    std::vector<std::string> talk{"generate", "-i", "-n", "40", "--temp", "0", "-c", "20", "-m", model_file("rope")};
    const Outcome full = run_program(talk, {.input = "Z\n"});
    EXPECT_NE(full.err.find("the context of 20 tokens is full; --context-shift goes on; /new begins a new text"),
              std::string::npos)
        << full.err;
    // 40 tokens are fed. When the 20th, 29th and 38th arrive, half of the tokens in the context are dropped, except the
    // one of the prompt.
    talk.push_back("--context-shift");
    const Outcome shifted = run_program(talk, {.input = "Z\n"});
    EXPECT_NE(shifted.err.find("the context of 20 tokens was shifted 3 times, its keys renumbered"), std::string::npos)
        << shifted.err;
}

TEST(CliInteractive, TheHelpAndTheOpeningSayThatATextIsAdded) {
    EXPECT_NE(said("/help\n").find("added to\nthe story so far; /new begins another"), std::string::npos);
    const Watched watched = run_in_terminal({"generate", "-i"}, 100, {}, {{"TERM", "dumb"}},
                                            [](const std::string&) { return std::string("\x04"); });
    EXPECT_NE(watched.written.find("each text is added to the story so far, and /new begins another"),
              std::string::npos)
        << watched.written;
    EXPECT_EQ(watched.written.find("\033[?2004h"), std::string::npos); // a dumb terminal has no paste to mark
}

// A terminal marks a paste, whose lines are one text. What it writes meanwhile is not marked.
TEST(CliInteractive, APasteIsOneText) {
    int typed = 0;
    const auto type = [&](const std::string& written) -> std::string {
        const char* const keys[] = {"\033[200~a\r\xc3\xa9\r/again\rm\r\033[201~", "\r", "/quit\r"};
        const char* const after[] = {"> ", "/again", "nop"};
        if (typed == 3 || written.find(after[typed]) == std::string::npos) return "";
        std::this_thread::sleep_for(std::chrono::milliseconds(1000)); // as below
        return keys[typed++];
    };
    const Watched watched = run_in_terminal(words, 80, {}, {{"TERM", "xterm"}}, type);
    EXPECT_EQ(watched.code, 0) << watched.written;
    const std::string& written = watched.written;
    const std::size_t text = written.find("nop");
    ASSERT_NE(text, std::string::npos) << written;
    EXPECT_EQ(written.find("bcd"), std::string::npos) << written; // no line was a text of its own
    EXPECT_LT(written.find("\033[?2004h"), written.find("\033[?2004l"));
    EXPECT_LT(written.find("\033[?2004l"), text);
    EXPECT_GT(written.find("\033[?2004h", text), text);
}

// Ctrl-C stops the text, and the program asks for the next one. Ctrl-D ends the program as usual.
TEST(CliInteractive, CtrlCStopsATextAndNotTheProgram) {
    for (const auto& [terminal, end] :
         {std::pair{"xterm", "/quit\n"}, {"dumb", "/quit\n"}, {"xterm", "\x04"}, {"dumb", "\x04"}}) {
        SCOPED_TRACE(std::string(terminal) + " " + end);
        bool asked = false, ended = false;
        const auto type = [&](const std::string& written) -> std::string {
            if (!asked && written.find("> ") != std::string::npos) {
                asked = true;
                return "Z\n";
            }
            const std::size_t last = written.rfind("ZZZZ");
            if (ended || last == std::string::npos || written.find("> ", last) == std::string::npos) return "";
            ended = true;
            // libedit prints its prompt before it takes over the terminal. Input that arrives between the two is lost.
            std::this_thread::sleep_for(std::chrono::milliseconds(1000));
            return end;
        };
        const auto interrupt = [](const std::string& written) {
            return std::count(written.begin(), written.end(), 'Z') > 300 ? SIGINT : 0;
        };
        const Watched watched =
            run_in_terminal({"generate", "-i", "-n", "-1", "-c", "200000", "--temp", "0", "--encoding", "alibi"}, 80,
                            interrupt, {{"TERM", terminal}}, type);
        EXPECT_EQ(watched.code, 0) << watched.written.substr(0, 2000);
        EXPECT_TRUE(ended);
        // An interrupt must not print a second prompt.
        const std::string after = watched.written.substr(watched.written.rfind("ZZZZ"));
        EXPECT_EQ(after.find("> "), after.rfind("> ")) << after;
    }
}

} // namespace
