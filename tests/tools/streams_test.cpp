// SPDX-License-Identifier: MIT
// The program among other programs: pipes, terminals, signals, limits and environments (families E4 - E11).
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "tests/tools/terminal.h"

#include <algorithm>
#include <future>
#include <gtest/gtest.h>
#include <thread>

namespace {

using namespace ordo::test;

const std::vector<std::string> three_tokens{"generate", "-p", "a", "-n", "3", "--temp", "0", "-q"};

// Generates until stopped, or for much longer than any test may take.
std::vector<std::string> endless(const std::string& prompt = "Z") {
    return {"generate", "-p", prompt, "-n", "-1", "-c", "20000", "--temp", "0", "-v"};
}

// ---- E4: stdin --------------------------------------------------------------------------------------

TEST(CliStreams, AClosedStdinIsAnErrorOnlyIfItIsRead) {
    expect_error(run_program({"generate", "-n", "3"}, {.in = Stdin::closed}), 5, "standard input");
    EXPECT_EQ(run_program(three_tokens, {.in = Stdin::closed}).out, "abcd\n");
}

TEST(CliStreams, AnEndlessStdinIsCutWithALimit) {
    for (const char* verb : {"generate", "tokenize", "logits"})
        expect_error(run_program({verb}, {.in = Stdin::endless}), 4, "standard input: expected at most ");
    expect_error(run_program({"perplexity", "-f", "/dev/zero"}), 4, "/dev/zero: expected at most ");
    EXPECT_EQ(run_program(three_tokens, {.in = Stdin::endless}).out, "abcd\n"); // stdin is not read
}

TEST(CliStreams, ATerminalIsNotWaitedFor) {
    for (const char* verb : {"generate", "tokenize", "logits"})
        expect_error(run_program({verb}, {.in = Stdin::terminal}), 2, "-p TEXT");
    EXPECT_EQ(run_program(three_tokens, {.in = Stdin::terminal}).out, "abcd\n");
    const Outcome hung_up = run_program({"generate", "-n", "3", "--temp", "0", "-q"}, {.in = Stdin::hung_up});
    EXPECT_FALSE(hung_up.hung);
    EXPECT_TRUE(hung_up.code == 2 || hung_up.code == 5) << hung_up.err; // an end of file or an error
}

// A shell that shares its terminal or a pipe with another program may leave stdin nonblocking.
TEST(CliStreams, AStdinThatDoesNotWaitIsWaitedFor) {
    const std::string text(300'000, 'a'); // more than a pipe's buffer
    Conditions conditions{.input = text, .waits = false, .input_delay = std::chrono::milliseconds(50)};
    const std::string ids = out_of({"tokenize"}, conditions);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), '9'), 300'000); // "97"
    conditions.input = "abca";
    for (const char* verb : {"generate", "logits", "perplexity"}) {
        std::vector<std::string> words{verb, "-q"};
        if (verb == std::string("perplexity")) words.insert(words.end(), {"-f", "-"});
        if (verb == std::string("generate")) words.insert(words.end(), {"-n", "3", "--temp", "0"});
        EXPECT_EQ(out_of(words, conditions), out_of(words, {.input = "abca"}));
    }
}

TEST(CliStreams, FilesThatAreNone) {
    const TempDir dir;
    expect_error(run_program({"generate", "-f", dir.path().string()}), 5, "directory");
    expect_error(run_program({"generate", "-f", (dir / "none").string()}), 5, "No such file");
    for (const char* model : {"/dev/zero", "/dev/null", "/no/such/file"})
        expect_error(run_program({"generate", "-p", "a", "-m", model}), 5, model);
    expect_error(run_program({"generate", "-p", "a", "-m", "/"}), 3, "found a directory without config.json");
}

// ---- E5: stdout ---------------------------------------------------------------------------------------

TEST(CliStreams, AResultThatCannotBeWrittenIsAnError) {
    const std::vector<std::vector<std::string>> commands = {three_tokens,
                                                            {"--help"},
                                                            {"generate", "--help"},
                                                            {"--version"},
                                                            {"tokenize", "-p", "abc"},
                                                            {"logits", "-p", "abc"},
                                                            {"encodings"},
                                                            {"table", "rope"},
                                                            {"info", model_file("rope")},
                                                            {"perplexity", "-q"}};
    for (const auto& command : commands) {
        SCOPED_TRACE(command[0]);
        expect_error(run_program(command, {.out = Stdout::full}), 5, "standard output: No space left on device");
        expect_error(run_program(command, {.out = Stdout::closed}), 5, "standard output: Bad file descriptor");
    }
}

TEST(CliStreams, AReaderThatLeavesEndsTheProgramQuietly) {
    auto words = endless();
    words.back() = "-q";
    for (const bool ignored : {false, true}) {
        const Outcome outcome = run_program(words, {.close_after = 1, .ignore_sigpipe = ignored});
        EXPECT_EQ(outcome.code, 128 + SIGPIPE);
        EXPECT_EQ(outcome.died, !ignored);
        EXPECT_EQ(outcome.err, "");
    }
    const Outcome gone = run_program({"encodings"}, {.out = Stdout::gone});
    EXPECT_EQ(gone.code, 128 + SIGPIPE);
    EXPECT_EQ(gone.err, "");
}

// ---- E7: signals --------------------------------------------------------------------------------------

TEST(CliStreams, CtrlCStopsBetweenTokens) {
    const Outcome outcome = run_program(endless(), {.signal = SIGINT, .signal_after = 400});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_FALSE(outcome.died);
    EXPECT_FALSE(outcome.hung);
    ASSERT_GE(outcome.out.size(), 400u);
    EXPECT_EQ(outcome.out, std::string(outcome.out.size() - 1, 'Z') + "\n");
    EXPECT_NE(outcome.err.find("stopped by: interrupted"), std::string::npos) << outcome.err;
    EXPECT_EQ(run_program(endless(), {.signal = SIGTERM, .signal_after = 400}).code, 143);
}

TEST(CliStreams, CtrlCStopsAtAnyMoment) {
    for (const int milliseconds : {0, 2, 5, 10, 20, 40, 80}) {
        const Outcome outcome =
            run_program(endless(std::string(12'000, 'Z')),
                        {.signal = SIGINT, .signal_delay = std::chrono::milliseconds(milliseconds)});
        EXPECT_EQ(outcome.code, 130) << milliseconds;
        EXPECT_FALSE(outcome.hung);
    }
}

TEST(CliStreams, ASecondCtrlCEndsItAtOnce) {
    const Outcome outcome = run_program(endless(), {.signal = SIGINT, .signal_after = 400, .signals = 2});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_FALSE(outcome.hung);
    for (const char* verb : {"tokenize", "logits"}) // waiting for stdin
        EXPECT_EQ(run_program({verb, "-f", "-"},
                              {.in = Stdin::terminal, .signal = SIGINT, .signal_delay = std::chrono::milliseconds(100)})
                      .code,
                  130);
}

// ---- E8: limits of the system --------------------------------------------------------------------------

TEST(CliStreams, MemoryThatIsNotThereIsALimit) {
    if (is_instrumented()) GTEST_SKIP() << "a sanitizer needs the address space for itself";
    const std::size_t gigabyte = std::size_t{1} << 30;
    const Outcome outcome =
        run_program({"generate", "-p", "a", "-c", "4000000", "-q", "-t", "1"}, {.address_space = gigabyte});
    expect_error(outcome, 4, "memory");
    EXPECT_LT(outcome.peak_kilobytes, 200 * 1024);
}

TEST(CliStreams, AModelThatDoesNotFitInMemoryIsALimit) {
    if (is_instrumented()) GTEST_SKIP() << "a sanitizer needs the address space for itself";
    // With less and less memory the runs hit the limit, until the system's loader cannot load the libraries any more.
    const std::size_t megabyte = std::size_t{1} << 20;
    std::vector<int> codes;
    for (std::size_t size = 480 * megabyte; size > 20 * megabyte; size -= 20 * megabyte) {
        const Outcome outcome = run_program(three_tokens, {.address_space = size});
        EXPECT_FALSE(outcome.hung) << size;
        if (outcome.code == 127) break;
        codes.push_back(outcome.code);
        if (outcome.code == 0) {
            EXPECT_EQ(outcome.out, "abcd\n");
        } else {
            expect_error(outcome, 4, "memory");
        }
    }
    EXPECT_EQ(codes.front(), 0);
    EXPECT_EQ(codes.back(), 4);
}

// The same for a limit on data (ulimit -d).
TEST(CliStreams, ALimitOnDataIsALimit) {
    if (is_instrumented()) GTEST_SKIP() << "a sanitizer needs the memory for itself";
    const std::size_t megabyte = std::size_t{1} << 20;
    std::vector<int> codes;
    for (std::size_t size = 640 * megabyte; size > 20 * megabyte; size -= 20 * megabyte) {
        const Outcome outcome = run_program(
            {"generate", "-m", model_file("rope"), "-p", "abcdefghijklmnop", "-n", "1", "--temp", "0", "-q", "-t", "2"},
            {.data = size});
        EXPECT_FALSE(outcome.hung) << size;
        codes.push_back(outcome.code);
        // If there is no memory for the second thread's stack, GNU OpenMP ends the process itself.
        if (outcome.code == 1 && outcome.err.find("libgomp: Thread creation failed") != std::string::npos) continue;
        if (outcome.code != 0) expect_error(outcome, 4, "memory");
    }
    EXPECT_EQ(codes.front(), 0);
    EXPECT_EQ(codes.back(), 4);
}

TEST(CliStreams, FewFilesAndASmallStackAreEnough) {
    Conditions conditions;
    conditions.files = 8;
    EXPECT_EQ(run_program(three_tokens, conditions).out, "abcd\n");
    if (is_instrumented()) return;
    conditions.stack = 64 << 10;
    EXPECT_EQ(run_program(three_tokens, conditions).out, "abcd\n");
}

// ---- E9, E10: environments ---------------------------------------------------------------------------------

TEST(CliStreams, TheEnvironmentChangesNothing) {
    const std::vector<std::vector<std::pair<std::string, std::string>>> environments = {
        {{"LANG", "C"}, {"LC_ALL", "C"}},
        {{"LC_ALL", "de_DE.UTF-8"}}, // writes 0.5 as 0,5
        {{"HOME", "-"}, {"TERM", "-"}, {"PATH", "-"}},
        {{"COLUMNS", "0"}, {"TERM", "dumb"}},
        {{"NO_COLOR", "1"}},
        {{"OMP_NUM_THREADS", "0"}},
        {{"OMP_NUM_THREADS", "abc"}},
        {{"OMP_NUM_THREADS", "1000"}},
        {{"OMP_NUM_THREADS", "-3"}},
        {{"OMP_NUM_THREADS", "99999999999999999999"}},
        {{"OMP_NUM_THREADS", "2,2"}, {"OMP_NESTED", "true"}},
        {{"OMP_DYNAMIC", "true"}, {"OMP_SCHEDULE", "dynamic"}},
        {{"OPENBLAS_NUM_THREADS", "1"}},
        {{"OPENBLAS_NUM_THREADS", "64"}, {"OMP_NUM_THREADS", "1"}},
    };
    const std::vector<std::string> table{"table", "sinusoidal", "--len", "2", "--dim", "2"};
    for (const auto& environment : environments) {
        SCOPED_TRACE(environment[0].first + "=" + environment[0].second);
        const Outcome outcome = run_program(three_tokens, {.environment = environment});
        expect_success(outcome);
        EXPECT_EQ(outcome.out, "abcd\n");
        EXPECT_EQ(run_program(table, {.environment = environment}).out,
                  "dim0,dim1\n0,1\n0.8414709848078965,0.5403023058681398\n");
    }
}

// ---- E11: several processes --------------------------------------------------------------------------------

TEST(CliStreams, SeveralProcessesShareAModel) {
    std::vector<std::future<Outcome>> runs;
    for (int i = 0; i < 4; ++i)
        runs.push_back(std::async(std::launch::async, [] { return run_program(three_tokens); }));
    for (auto& run : runs) EXPECT_EQ(run.get().out, "abcd\n");
}

TEST(CliStreams, AModelMayBeDeletedWhileItRuns) {
    const TempDir dir;
    std::filesystem::copy_file(model_file("rope"), dir / "model.safetensors");
    auto words = endless();
    words.insert(words.end(), {"-m", (dir / "model.safetensors").string()});
    auto run =
        std::async(std::launch::async, [&] { return run_program(words, {.signal = SIGINT, .signal_after = 2000}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::filesystem::remove(dir / "model.safetensors");
    const Outcome outcome = run.get();
    // If the file was deleted before the program opened it, it is missing. Later deletion has no effect.
    EXPECT_TRUE(outcome.code == 130 || outcome.code == 5) << outcome.err;
}

TEST(CliStreams, RelativePathsAreTakenFromWhereItRuns) {
    Conditions conditions;
    conditions.directory = model_directory().string();
    EXPECT_EQ(run_program({"generate", "rope.safetensors", "-p", "a", "-n", "3", "--temp", "0", "-q"}, conditions).out,
              "abcd\n");
}

} // namespace
