// SPDX-License-Identifier: MIT
// ordo generate. The alphabet model's continuation is known from its definition (models.h).
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include "kernels/kernels.h"

#include <gtest/gtest.h>
#include <regex>

namespace {

using namespace ordo::test;

// The output of a greedy run with the alphabet model.
std::string greedy(const std::string& prompt, std::vector<std::string> more, const Conditions& conditions = {}) {
    std::vector<std::string> words{"generate", "-p", prompt, "--temp", "0", "-q"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run_program(words, conditions);
    expect_success(outcome);
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
}

// ---- Output ---------------------------------------------------------------------------------------

TEST(CliGenerate, PrintsPromptContinuationAndNewline) {
    EXPECT_EQ(greedy("a", {"-n", "5"}), "abcdef\n");
    EXPECT_EQ(greedy("a", {"--n-predict", "5"}), "abcdef\n");
    EXPECT_EQ(greedy("a", {"--predict=5"}), "abcdef\n");
    EXPECT_EQ(greedy("a", {"-n", "0"}), "a\n");
    EXPECT_EQ(greedy("a", {"-n", "5", "--no-display-prompt"}), "bcdef\n");
    EXPECT_EQ(greedy("a", {"-n", "5", "-m", model_file("rope")}), "abcdef\n");
    EXPECT_EQ(greedy("a", {"-n", "5", model_file("rope")}), "abcdef\n");
}

TEST(CliGenerate, ReadsFilesAndPipes) {
    const TempDir dir;
    put_file(dir / "prompt.txt", "two\nlines a\n");
    const std::vector<std::string> words{"generate", "--temp", "0", "-n", "2", "-q"};
    auto from_file = words;
    from_file.insert(from_file.end(), {"-f", (dir / "prompt.txt").string()});
    EXPECT_EQ(run_program(from_file).out, "two\nlines abc\n");
    EXPECT_EQ(run_program(words, {.input = "a\n"}).out, "abc\n");
    EXPECT_EQ(run_program(words, {.input = "a\n\n"}).out, "a\n\v\f\n"); // one newline is dropped; \v follows the other
    auto from_dash = words;
    from_dash.insert(from_dash.end(), {"-f", "-"});
    EXPECT_EQ(run_program(from_dash, {.input = "a"}).out, "abc\n");
}

TEST(CliGenerate, EveryEncodingFindsItsWeights) {
    for (const char* encoding :
         {"rope", "none", "learned", "alibi", "rope:theta=10000.0", "rope:pairing=adjacent,width=130"})
        EXPECT_EQ(greedy("m", {"-n", "3", "--encoding", encoding}), "mnop\n") << encoding;
}

// If a storyteller is installed, generate uses it unless the command names a model or an encoding. Other verbs ignore
// it.
TEST(CliGenerate, TheStorytellerWritesIfNothingIsNamed) {
    const TempDir dir;
    std::filesystem::copy_file(model_file("rope"), dir / "rope.safetensors");
    std::filesystem::copy_file(model_file("random"), dir / "storyteller.safetensors");
    std::filesystem::copy_file(model_directory() / "heldout.txt", dir / "heldout.txt");
    const Conditions there{.environment = {{"ORDO_WEIGHTS", dir.path().string()}}};
    const std::vector<std::string> words{"generate", "-p", "a", "-n", "5", "--temp", "0", "-q"};
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> all = words;
        all.insert(all.end(), more.begin(), more.end());
        return run_program(all, there).out;
    };
    EXPECT_EQ(with({}), greedy("a", {"-n", "5", "-m", model_file("random")}));
    EXPECT_NE(with({}), "abcdef\n");
    EXPECT_EQ(with({"--encoding", "rope"}), "abcdef\n");
    EXPECT_EQ(with({"--encodings", "rope"}).find("abcdef") == std::string::npos, false);
    EXPECT_EQ(with({"-m", (dir / "rope.safetensors").string()}), "abcdef\n");
    const Outcome talk = run_program({"generate", "-i", "-n", "5", "--temp", "0", "-q"},
                                     {.input = "a\n/encoding rope\n/new\na\n", .environment = there.environment});
    EXPECT_NE(talk.out.find("bcdef"), std::string::npos) << talk.out;
    EXPECT_EQ(run_program({"perplexity", "-q", "--format", "csv"}, there).out,
              run_program({"perplexity", "-q", "--format", "csv", "-m", model_file("rope")}).out);
    EXPECT_NE(run_program({"generate", "-p", "a", "--encoding", "rope:theta=500"}, there).code, 0);
}

TEST(CliGenerate, StopsBeforeAStopText) {
    EXPECT_EQ(greedy("a", {"--stop", "e"}), "abcd\n");
    EXPECT_EQ(greedy("a", {"--stop", "cde"}), "ab\n"); // over several tokens
    EXPECT_EQ(greedy("a", {"--stop", "ghi", "--stop", "efg"}), "abcd\n");
    EXPECT_EQ(greedy("a", {"-n", "4", "--stop", "ef"}), "abcde\n"); // no stop text follows
    EXPECT_EQ(greedy("w", {"--stop", "é"}), "wx\n");
    EXPECT_EQ(greedy("w", {"--stop", "\xc3\xa9!"}), "wx\n");
    EXPECT_EQ(greedy("abc", {"-n", "1", "--stop", "abc"}), "abcd\n"); // a stop text in the prompt does not stop
}

TEST(CliGenerate, StopsAtTheEndOfTextAndAtAFullContext) {
    EXPECT_EQ(greedy("x", {"-n", "-1"}), "xé!\n");
    // One token of the context is the end-of-text token in front. The last token drawn is not fed.
    EXPECT_EQ(greedy("Z", {"-n", "-1", "-c", "10"}), std::string(10, 'Z') + "\n");
    EXPECT_EQ(greedy("Z", {"-n", "-1"}), std::string(model_context, 'Z') + "\n");
    EXPECT_EQ(greedy("Z", {"-n", "150", "-c", "0"}), std::string(model_context, 'Z') + "\n");
}

TEST(CliGenerate, BreaksOnlyAtCharacters) {
    EXPECT_EQ(greedy("x", {"-n", "1"}), "x\n"); // half of é
    EXPECT_EQ(greedy("x", {"-n", "2"}), "xé\n");
}

// ---- T4 - T8: odd prompts -----------------------------------------------------------------------------

TEST(CliGenerate, AnyBytesMayBeThePrompt) {
    const std::vector<std::string> words{"generate", "--temp", "0", "-n", "1", "-q"};
    for (const std::string& prompt : {std::string("\xff\xfe"
                                                  "a"),
                                      std::string("\xed\xa0\x80\xed\xb0\x80"
                                                  "a"),
                                      std::string("\xc0\xaf"
                                                  "a"),
                                      std::string("a\0b\0a", 5),
                                      std::string("\xf4\x8f\xbf\xbf"
                                                  "a"),
                                      std::string("\xf0\x9f\x98"
                                                  "a"),
                                      std::string("\x1b[31ma"), std::string("\r \n a")}) {
        const Outcome outcome = run_program(words, {.input = prompt});
        expect_success(outcome);
        EXPECT_EQ(outcome.out, prompt + "b\n");
    }
}

TEST(CliGenerate, AnEmptyPromptStartsAText) {
    EXPECT_EQ(greedy("", {"-n", "3"}), "abc\n");
    const std::vector<std::string> nothing{"generate", "--temp", "0", "-n", "3", "-q"};
    expect_error(run_program(nothing, {.in = Stdin::null}), 2, "standard input: expected a text, found nothing");
}

TEST(CliGenerate, APromptMayFillTheContextButNotExceedIt) {
    const std::string fits(model_context - 1, 'Z'); // and the end-of-text token
    EXPECT_EQ(greedy(fits, {"-n", "-1"}), fits + "Z\n");
    EXPECT_EQ(greedy(fits.substr(1), {"-n", "-1"}), fits + "Z\n");
    expect_error(run_program({"generate", "-p", fits + "Z"}), 4, "at most 64 tokens, found 65"); // no seed
    // The error suggests a larger context only if the encoding supports one.
    const auto refused = [](std::vector<std::string> more, const std::string& phrase) {
        more.insert(more.begin(), "generate");
        expect_error(run_program(more), 4, phrase);
    };
    const std::string longer = fits + "Z", shift = "--context-shift leaves out its middle";
    refused({"-p", longer}, "found 65; -c gives more room, " + shift);
    refused({"-p", longer, "--encoding", "learned"}, "found 65; " + shift);
    refused({"-p", longer, "--encoding", "learned", "-c", "8"},
            "at most 8 tokens, found 65; -c gives more room, up to 64 tokens, " + shift);
    refused({"-p", longer, "--context-shift", "--keep", "-1"},
            "found 65; -c gives more room, a smaller --keep leaves out its middle");
    refused({"-p", longer, "--encodings", "rope;learned"}, "found 65; " + shift);
    refused({"-p", longer, "--encodings", "learned;rope"}, "found 65; " + shift);
    EXPECT_EQ(greedy(longer, {"-n", "1", "--context-shift", "--encoding", "learned"}), longer + "Z\n");
    const Outcome typed = run_program({"generate", "-i", "-q", "--encoding", "learned"}, {.input = longer + "\n"});
    EXPECT_NE(typed.err.find("found 65; " + shift), std::string::npos) << typed.err;
    EXPECT_EQ(greedy(fits + "Z", {"-n", "1", "-c", "100"}), fits + "ZZ\n");
    expect_error(run_program({"generate", "-q"}, {.input = std::string(1 << 20, 'a')}), 4,
                 "at most 64 tokens, found 1048577");
}

TEST(CliGenerate, SpecialTokensInThePromptAreTextUnlessAskedFor) {
    const std::string mark = "<|endoftext|>";
    EXPECT_EQ(greedy("x" + mark, {"-n", "1"}), "x" + mark + "?\n"); // '?' follows '>'
    EXPECT_EQ(greedy("x" + mark, {"-n", "1", "--special"}), "x" + mark + "a\n");
}

// ---- Seeds and threads --------------------------------------------------------------------------------

TEST(CliGenerate, TheSameSeedGivesTheSameTextWhateverTheThreads) {
    const std::vector<std::string> words{"generate", model_file("random"), "-p", "The", "-s", "5", "--temp", "2", "-q"};
    const Outcome one = run_program(words);
    expect_success(one);
    for (const char* threads : {"1", "2", "3", "8"}) {
        auto more = words;
        more.insert(more.end(), {"-t", threads});
        EXPECT_EQ(run_program(more).out, one.out) << threads;
    }
    auto other = words;
    other[5] = "6";
    EXPECT_NE(run_program(other).out, one.out);
}

TEST(CliGenerate, TheSeedThatItChoseIsPrintedAndGivesTheTextAgain) {
    const std::vector<std::string> words{"generate", model_file("random"), "-p", "The", "--temp", "2", "-n", "40"};
    const Outcome first = run_program(words), second = run_program(words);
    std::smatch seed;
    ASSERT_TRUE(std::regex_search(first.err, seed, std::regex("seed: ([0-9]+)\n"))) << first.err;
    auto again = words;
    again.insert(again.end(), {"-s", seed[1]});
    EXPECT_EQ(run_program(again).out, first.out);
    EXPECT_NE(second.out, first.out);
    EXPECT_EQ(run_program(again).err.find("seed:"), std::string::npos);
    const Outcome nothing = run_program({"generate", "-p", "a", "-n", "0"});
    EXPECT_EQ(nothing.err.find("ordo: seed: "), 0u) << nothing.err;
}

TEST(CliGenerate, ASeedOfMinusOneIsDrawn) {
    const Outcome outcome = run_program({"generate", model_file("random"), "-p", "a", "-n", "1", "-s", "-1"});
    expect_success(outcome);
    EXPECT_TRUE(std::regex_search(outcome.err, std::regex("seed: [0-9]+\n"))) << outcome.err;
    EXPECT_EQ(outcome.err.find("seed: 18446744073709551615"), std::string::npos);
}

// Without the end-of-text token the other 256 logits are 0, and the first token wins.
TEST(CliGenerate, TheEndOfTheTextMayBeIgnored) {
    EXPECT_EQ(greedy("x", {"-n", "4"}), "x\u00e9!\n");
    const std::string more = greedy("x", {"-n", "4", "--ignore-eos"});
    EXPECT_EQ(more.substr(0, 4), "x\u00e9!");
    EXPECT_EQ(more.size(), 4 + 1 + 1u);
}

TEST(CliGenerate, ATextWhereAModelBelongsIsToldFromOne) {
    expect_error(run_program({"generate", "Once upon a time"}), 2, "a text goes after -p");
    expect_error(run_program({"generate", "Once"}), 2, "a text goes after -p");
    expect_error(run_program({"generate", "no/such.safetensors"}, {.input = "a"}), 5, "no/such.safetensors");
}

TEST(CliGenerate, TimingsGoToStderr) {
    const Outcome outcome = run_program({"generate", "-p", "a", "-n", "3", "--temp", "0"});
    EXPECT_EQ(outcome.out, "abcd\n");
    EXPECT_TRUE(
        std::regex_search(outcome.err, std::regex("prompt: 2 tokens in .*\nordo: continuation: 3 tokens in .* s.*\n")))
        << outcome.err;
    const Outcome one = run_program({"generate", "-p", "a", "-n", "1", "--temp", "0"}); // drawn from the prompt's pass
    EXPECT_TRUE(std::regex_search(one.err, std::regex("continuation: 1 tokens in [0-9.]+ s; stopped by: "))) << one.err;
}

// ---- Encodings ------------------------------------------------------------------------------------------

TEST(CliGenerate, AnotherEncodingThanTheTrainedOneNeedsForce) {
    const std::vector<std::string> words{"generate", model_file("rope"), "-p", "a",         "-n",
                                         "2",        "--temp",           "0",  "--encoding"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), words.begin(), words.end());
        return run_program(more);
    };
    expect_error(with({"alibi"}), 2,
                 "asked to run with 'alibi:max=8,power=1'; to see what happens all the same, force it "
                 "with --force-encoding");
    const Outcome forced = with({"alibi", "--force-encoding"});
    expect_success(forced);
    EXPECT_EQ(forced.out, "abc\n"); // the alphabet model ignores its encoding
    EXPECT_NE(forced.err.find("warning: "), std::string::npos) << forced.err;
    EXPECT_EQ(with({"alibi", "--force-encoding", "-q"}).err, "");
    expect_error(with({"learned", "--force-encoding"}), 2, "encoding.learned.weight"); // only the error, no warning
    expect_error(with({"rop"}), 2, "rope");
    expect_error(with({"rope:theta=1e5"}), 2, "theta");
    expect_error(with({"rope:depth=5"}), 2, "depth");
    expect_error(with({"rope:width=5", "--force-encoding"}), 2, "even");
    expect_error(with({"rope:theta=20000"}), 2, "rope:theta=20000"); // another parameter is another encoding
    const Outcome rescaled = with({"rope:theta=20000", "--force-encoding"});
    expect_success(rescaled);
    EXPECT_NE(rescaled.err.find("warning: "), std::string::npos) << rescaled.err;
}

TEST(CliGenerate, WithoutAModelTheEncodingPicksTheWeights) {
    const auto run = [](const char* encoding, bool force) {
        std::vector<std::string> words{"generate", "-p", "a", "-n", "1", "--temp", "0", "-v", "--encoding", encoding};
        if (force) words.push_back("--force-encoding");
        return run_program(words);
    };
    EXPECT_NE(run("rope:theta=500", false).err.find("random.safetensors"), std::string::npos);
    EXPECT_NE(run("segment+learned", false).err.find("segments.safetensors"), std::string::npos);
    expect_error(run_program({"generate", "-p", "a", "--encoding", "sinusoidal+alibi"}), 2,
                 "no shipped weights were trained with it");
    expect_error(run_program({"generate", "-p", "a", "--encoding", "roap"}), 2, "roap");
    expect_error(run_program({"generate", "-p", "a", "--encoding", "alibi:max=4"}), 2, "; --force-encoding runs them");
    expect_error(run_program({"generate", "-p", "a", "--encoding", "sink"}), 2, "; ordo train --encoding makes such");
    EXPECT_NE(run("sinusoidal+alibi", true).err.find("rope.safetensors"), std::string::npos);
    const Outcome other = run_program({"generate", "-p", "a", "--encoding", "rope:theta=20000"});
    expect_error(other, 2, "no shipped weights were trained with it");
    EXPECT_NE(other.err.find("rope:theta=10000"), std::string::npos) << other.err; // the difference
    EXPECT_EQ(other.err.find("alibi:"), std::string::npos) << other.err;           // no advice that does not help
    EXPECT_NE(other.err.find("alibi"), std::string::npos) << other.err;
    EXPECT_NE(run("rope:theta=20000", true).err.find("warning: "), std::string::npos);
    EXPECT_NE(run("alibi:max=4", true).err.find("alibi.safetensors"), std::string::npos);
}

TEST(CliGenerate, ALearnedTableEndsWhereItEnds) {
    const Outcome outcome = run_program({"generate", "-p", "a", "--encoding", "learned", "-c", "65", "-q"});
    expect_error(outcome, 4, "64");
    EXPECT_EQ(greedy("Z", {"--encoding", "learned", "-c", "64", "-n", "-1"}), std::string(64, 'Z') + "\n");
    EXPECT_EQ(greedy("Z", {"--encoding", "alibi", "-c", "200", "-n", "-1"}), std::string(200, 'Z') + "\n");
}

TEST(CliGenerate, EveryInstructionSetGivesTheSameText) {
    EXPECT_EQ(greedy("a", {"-n", "5", "--isa", "auto"}), "abcdef\n");
    for (const ordo::Kernels* set : ordo::available_kernels())
        EXPECT_EQ(greedy("a", {"-n", "5", "--isa", set->name}), "abcdef\n") << set->name;
}

TEST(CliGenerate, WeightsAreFoundBesideAnInstalledProgram) {
    const TempDir prefix;
    std::filesystem::create_directories(prefix / "bin");
    std::filesystem::create_directories(prefix / "share/ordo/weights");
    std::filesystem::copy_file(program_path(), prefix / "bin/ordo");
    std::filesystem::copy_file(model_file("rope"), prefix / "share/ordo/weights/some-name.safetensors");
    std::filesystem::create_symlink(prefix / "bin/ordo", prefix / "link");
    Conditions conditions{.environment = {{"ORDO_WEIGHTS", "-"}}, .program = (prefix / "link").string()};
    EXPECT_EQ(greedy("a", {"-n", "2"}, conditions), "abc\n");
    for (const char* none : {"no-such-directory", "bin/ordo"}) {
        conditions.environment = {{"ORDO_WEIGHTS", (prefix / none).string()}};
        expect_error(run_program({"generate", "-p", "a"}, conditions), 5, "expected a folder, found ");
    }
    conditions.environment = {{"ORDO_WEIGHTS", (prefix / "bin").string()}};
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"generate", "-p", "a"}, {"generate", "-p", "a", "--encoding", "rope"}, {"info"}})
        expect_error(run_program(words, conditions), 5,
                     "ORDO_WEIGHTS: " + (prefix / "bin").string() + ": expected weights, *.safetensors, found none");
    conditions.environment = {{"ORDO_WEIGHTS", "-"}};
    std::filesystem::remove(prefix / "share/ordo/weights/some-name.safetensors");
    expect_error(run_program({"generate", "-p", "a"}, conditions), 5, "no weights found in ");
}

// A verb with a program of its own.
TEST(CliLab, AMissingProgramIsNamed) {
    const TempDir folder;
    std::filesystem::copy_file(program_path(), folder / "ordo");
    for (const std::vector<std::string>& words : {std::vector<std::string>{"lab"}, {"help", "lab"}})
        expect_error(run_program(words, {.program = (folder / "ordo").string()}), 5,
                     "lab: not built yet: run make (it builds " + (folder / "ordo-lab").string());
}

TEST(CliLab, AProgramOfAnotherBuildIsSaidToBeOlderOrNewer) {
    const TempDir folder;
    std::filesystem::copy_file(program_path(), folder / "ordo");
    const std::filesystem::path lab = folder / "ordo-lab";
    const auto warned = [&](const std::vector<std::string>& words) {
        const Outcome outcome = run_program(words, {.program = (folder / "ordo").string()});
        expect_success(outcome);
        return outcome.err;
    };
    std::filesystem::copy_file(std::filesystem::path(program_path()).parent_path() / "ordo-lab", lab);
    EXPECT_EQ(warned({"lab"}), "");
    put_file(lab, "#!/bin/sh\necho a lab\n");
    const auto now = std::filesystem::last_write_time(folder / "ordo");
    std::filesystem::last_write_time(lab, now - std::chrono::hours(1));
    EXPECT_EQ(warned({"lab"}), "ordo: warning: ordo-lab is older than ordo: run make\n");
    EXPECT_EQ(warned({"lab", "-q"}), "");
    std::filesystem::last_write_time(lab, now + std::chrono::hours(1));
    EXPECT_EQ(warned({"lab"}), "ordo: warning: ordo-lab is newer than ordo: run make\n");
}

} // namespace
