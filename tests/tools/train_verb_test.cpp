// SPDX-License-Identifier: MIT
// ordo train: its options, its output files, and the files that remain after it is stopped (families E6, E7).
#include "core/random.h"
#include "kernels/kernels.h"
#include "tests/json.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"
#include "tests/tools/terminal.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace {

using namespace ordo;
using namespace ordo::test;

class CliTrain : public testing::Test {
protected:
    CliTrain() {
        std::string text;
        for (int i = 0; i < 400; ++i)
            text += "The " + std::to_string(i * 7919 % 1000) + " cats sat.\n" + (i % 20 == 19 ? "<|endoftext|>\n" : "");
        put_file(dir_ / "text.txt", text);
        put_file(dir_ / "val.txt", text.substr(0, 1000));
    }

    std::string path(const std::string& name) const { return (dir_ / name).string(); }

    // A run of 60 steps on a tiny trunk.
    std::vector<std::string> words(std::vector<std::string> more = {}) const {
        std::vector<std::string> all{"train",         "--corpus", path("text.txt"),     "--val",
                                     path("val.txt"), "--out",    path("w.safetensors")};
        for (const char* word : {"--byte-tokenizer", "--vocab", "257", "--layers", "1", "--dim", "16", "--heads", "2",
                                 "--ffn", "32", "--ctx", "16", "--batch", "4", "--eval-every", "1000"})
            all.emplace_back(word);
        if (std::find(more.begin(), more.end(), "--tokens") == more.end())
            more.insert(more.end(), {"--tokens", "3840"});
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }

    // Expects no half-written file in the folder.
    void expect_only(std::vector<std::string> names) const {
        names.insert(names.end(), {"text.txt", "val.txt"});
        for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
            const std::string name = entry.path().filename().string();
            EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
        }
    }

    TempDir dir_;
};

// Every 50th document is held out. The run equals the one with two separate texts.
TEST_F(CliTrain, ATextAloneIsEnough) {
    std::string text, rest, held;
    for (int i = 0; i < 500; ++i) {
        const std::string document = "The " + std::to_string(i * 7919 % 1000) + " cats sat on mats.\n<|endoftext|>\n";
        text += document;
        (i % 50 == 49 ? held : rest) += document;
    }
    put_file(dir_ / "one.txt", text);
    put_file(dir_ / "rest.txt", rest);
    put_file(dir_ / "held.txt", held);
    std::vector<std::string> all = words();
    all.erase(all.begin() + 1, all.begin() + 5); // --corpus and --val
    all.insert(all.begin() + 1, path("one.txt"));
    const Outcome alone = run_program(all);
    expect_success(alone);
    auto again = words();
    again[2] = path("rest.txt"), again[4] = path("held.txt"), again[6] = path("w2.safetensors");
    const Outcome split = run_program(again);
    expect_success(split);
    EXPECT_EQ(alone.out.substr(0, alone.out.find("file:")), split.out.substr(0, split.out.find("file:")));
    EXPECT_NE(alone.out.find("validation_loss: "), std::string::npos);

    expect_error(run_program({"train", path("text.txt"), "--corpus", path("text.txt"), "--out", path("o")}), 2,
                 "expected one text");
    expect_error(run_program({"train", path("text.txt"), "--out", path("o.gguf")}), 2,
                 "o.gguf'; ordo convert writes a GGUF of it");
    put_file(dir_ / "short.txt", "Two mats.\n<|endoftext|>\nThe end.\n");
    expect_error(run_program({"train", path("short.txt"), "--out", path("o"), "--byte-tokenizer"}), 4,
                 "short.txt: expected more than 256 tokens, found ");
}

TEST_F(CliTrain, ACheckpointOfAnotherRunSaysWhatDiffers) {
    const auto run = [&](std::vector<std::string> more) {
        more.insert(more.end(), {"--checkpoint", path("c"), "--resume", "-q"});
        return run_program(words(std::move(more)));
    };
    expect_success(run({"--lr", "0.01"}));
    expect_error(run({"--lr", "0.02"}), 2, "its --lr: expected 0.02, found 0.01");
    expect_error(run({"--lr", "0.01", "--kv-heads", "1"}), 2, "its --kv-heads: expected 1, found 2");
    expect_error(run({"--lr", "0.01", "--window", "5"}), 2, "its --window: expected 5, found 0");
    expect_error(run({"--lr", "0.01", "--encoding", "alibi"}), 2,
                 "its --encoding: expected alibi:max=8,power=1, found rope");
    std::vector<std::string> deeper = words({"--lr", "0.01", "--checkpoint", path("c"), "--resume", "-q"});
    *(std::find(deeper.begin(), deeper.end(), "--layers") + 1) = "2";
    expect_error(run_program(deeper), 2, "its --layers: expected 2, found 1");
    std::vector<std::string> wider = words({"--lr", "0.01", "--checkpoint", path("c"), "--resume", "-q"});
    const auto width = std::find(wider.begin(), wider.end(), "--dim") + 1;
    const std::string narrow = *width;
    *width = std::to_string(2 * std::stoi(narrow)); // rope's own width follows from --dim
    expect_error(run_program(wider), 2, "its --dim: expected " + *width + ", found " + narrow);
    const std::string text = file_content(path("text.txt"));
    put_file(path("text.txt"), text + text);
    expect_error(run({"--lr", "0.01"}), 2, "expected a checkpoint of this run; it was trained on another text");
    put_file(path("text.txt"), text);
    expect_error(run({"--lr", "0.01", "--optimizer", "muon"}), 2, "its --optimizer: expected muon, found adamw");
}

TEST_F(CliTrain, WritesWeightsThatTheOtherVerbsRead) {
    const Outcome trained = run_program(words({"--encoding", "alibi", "--log", path("log.csv"), "--seed", "3"}));
    expect_success(trained);
    const std::size_t first = trained.err.find('\n') + 1; // of two lines
    EXPECT_TRUE(trained.err.starts_with("ordo: step 11/60: loss ")) << trained.err;
    EXPECT_TRUE(trained.err.substr(first).starts_with("ordo: step 60/60: loss ")) << trained.err;
    EXPECT_EQ(trained.err.find('\n', first), trained.err.size() - 1) << trained.err;
    EXPECT_TRUE(trained.out.starts_with("tokens: 3840\ntrain_loss: ")) << trained.out;
    EXPECT_TRUE(trained.out.ends_with("\nkept_tokens: 3840\nfile: " + path("w.safetensors") + "\n")) << trained.out;
    expect_only({"w.safetensors", "log.csv"});
    EXPECT_TRUE(file_content(path("log.csv")).starts_with("step,tokens,lr,loss"));

    const Outcome info = run_program({"info", path("w.safetensors"), "--format", "json"});
    expect_success(info);
    const Json json = read_json(info.out);
    EXPECT_EQ(json["encoding"], "alibi:max=8,power=1");
    EXPECT_EQ(json["blueprint"]["d_model"], 16);
    EXPECT_EQ(json["blueprint"]["n_kv_heads"], 2);
    const std::string command = json["record"]["command"];
    EXPECT_TRUE(command.starts_with("ordo train --corpus text.txt --val val.txt --out w.safetensors ")) << command;
    EXPECT_TRUE(
        std::string(json["record"]["processor"]).ends_with(std::string(" with ") + kernels().name + " kernels"));
    EXPECT_EQ(info.out.find(dir_.path().string()), std::string::npos); // no paths anywhere
    expect_success(run_program({"generate", path("w.safetensors"), "-p", "The", "-n", "5"}));
    const auto warnings = [&](const char* text) {
        return run_program({"perplexity", path("w.safetensors"), "-f", path(text), "--max-tokens", "9"}).err;
    };
    EXPECT_NE(warnings("text.txt").find("warning: the model learned from this text"), std::string::npos);
    EXPECT_EQ(warnings("val.txt"), "");
}

// A window of the whole sequence hides nothing, so the run is the same; a shorter one hides keys of its layers alone.
TEST_F(CliTrain, LayersTakeTheirWindowsInTurn) {
    const auto loss = [&](std::vector<std::string> more) {
        std::vector<std::string> all = words(std::move(more));
        *(std::find(all.begin(), all.end(), "--layers") + 1) = "3";
        const Outcome trained = run_program(all);
        expect_success(trained);
        return trained.out;
    };
    const auto windows = [&] {
        const Json b = read_json(run_program({"info", path("w.safetensors"), "--format", "json"}).out)["blueprint"];
        std::vector<int> all;
        for (const Json& plan : b.value("layers", Json::array({b}))) all.push_back(plan.value("window", b["window"]));
        return all;
    };
    const std::string whole = loss({});
    EXPECT_EQ(loss({"--window", "16"}), whole);
    EXPECT_EQ(windows(), std::vector<int>{16});
    EXPECT_EQ(loss({"--window", "0,16"}), whole);
    const std::string first = loss({"--window", "3,0,0"}), turn = loss({"--window", "3,0"}),
                      all = loss({"--window", "3,3"});
    EXPECT_EQ(std::set<std::string>({whole, first, turn, all}).size(), 4);
    EXPECT_EQ(windows(), std::vector<int>{3});
    loss({"--window", "3,0", "--encoding", "pattern(rope,none)"});
    EXPECT_EQ(windows(), (std::vector<int>{3, 0}));
    expect_success(run_program({"generate", path("w.safetensors"), "-p", "The", "-n", "20"}));
}

TEST_F(CliTrain, OptionsAreRefusedBeforeAnythingIsRead) {
    expect_error(run_program({"train"}), 2, "expected a text to learn: ordo train TEXT --out FILE");
    expect_error(run_program({"train", "--corpus", "a", "--val", "b"}), 2, "expected --out FILE");
    expect_error(run_program(words({"--arch", "lama"})), 2, "expected one of ordo, ");
    expect_error(run_program(words({"--kv-heads", "3"})), 2, "--kv-heads: expected a divisor");
    expect_error(run_program(words({"--window", "8,0"})), 2, "expected at most a number for each of the 1 layers");
    expect_error(run_program(words({"--arch", "bert", "--window", "8"})), 2, "expected 0 or odd numbers for bert");
    expect_error(run_program(words({"--resume"})), 2, "--checkpoint");
    expect_error(run_program(words({"--warmup", "0.1", "--warmup-steps", "3"})), 2, "found both");
    expect_error(run_program(words({"--muon-scale", "2"})), 2, "expected --optimizer muon beside it");
    expect_error(run_program(words({"--decay", "0.5"})), 2, "expected --schedule stable beside it");
    expect_error(run_program(words({"--resume", "--overwrite", "--checkpoint", "x"})), 2, "found both");
    expect_error(run_program(words({"--tokenizer", "x"})), 2, "found both");
    expect_error(run_program(words({"--keep", "first"})), 2, "best|last");
    expect_error(run_program(words({"--encoding", "learned:length=15"})), 4, "positions for 16 tokens, found 15");
    expect_error(run_program(words({"--encoding", "rpoe"})), 2, "rope");
    expect_error(run_program(words({"--dropout", "1"})), 2, "--dropout");
    expect_error(run_program(words({"--dtype", "f64"})), 2, "f16|bf16|f32");
    expect_error(run_program({"train", "--corpus", "a", "--val", "b", "--out", "c", "--dim", "10", "--heads", "3"}), 2,
                 "divisor of the width 10");
    expect_error(run_program({"train", "--corpus", path("none"), "--val", path("val.txt"), "--out", path("w")}), 5,
                 "none");
    put_file(dir_ / "text.txt", "short");
    expect_error(run_program(words()), 4, "text.txt");
    expect_only({});
}

TEST_F(CliTrain, TheSameSeedGivesTheSameBytesWhateverTheThreads) {
    std::string first;
    for (const char* threads : {"1", "3"}) {
        expect_success(run_program(words({"-q", "-t", threads})));
        const std::string bytes = file_content(path("w.safetensors"));
        // The command line is part of the file and names the number of threads.
        const std::string data = bytes.substr(bytes.size() - 10'000);
        if (first.empty()) first = data;
        EXPECT_EQ(data, first);
    }
}

TEST_F(CliTrain, AFileThatCannotBeWrittenLeavesTheOldOne) {
    put_file(dir_ / "w.safetensors", "old");
    Conditions full;
    full.file_size = 4096; // as on a full disk: the write fails in the middle
    expect_error(run_program(words({"-q", "--overwrite"}), full), 5, "w.safetensors");
    EXPECT_EQ(file_content(path("w.safetensors")), "old");
    expect_only({"w.safetensors"});
    expect_success(run_program(words({"--overwrite"})));
    EXPECT_GT(file_content(path("w.safetensors")).size(), 4096u);
    expect_error(run_program({"train", "--corpus", path("text.txt"), "--val", path("val.txt"), "--out",
                              path("no/such/w"), "--byte-tokenizer", "--vocab", "257", "--tokens", "64", "--batch", "1",
                              "--ctx", "16", "--layers", "1"}),
                 5, "no/such");
}

// No file takes more than 64 MiB and four times its size.
TEST_F(CliTrain, LongLinesWordsAndVocabulariesTakeFourTimesTheirBytes) {
    if (is_instrumented()) GTEST_SKIP();
    const auto train = [&](const std::string& text, std::vector<std::string> tokenizer) {
        put_file(dir_ / "line.txt", text);
        put_file(dir_ / "held.txt", text.substr(0, 4000));
        std::vector<std::string> words{"train",   path("line.txt"), "--val", path("held.txt"), "-q", "--out",
                                       path("l"), "--tokens",       "640",   "--batch",        "2",  "--ctx",
                                       "32",      "--layers",       "1",     "--dim",          "16", "--heads",
                                       "2",       "--ffn",          "16"};
        words.insert(words.end(), tokenizer.begin(), tokenizer.end());
        const Outcome outcome = run_program(words);
        expect_success(outcome);
        EXPECT_LT(static_cast<std::size_t>(outcome.peak_kilobytes) << 10, (std::size_t{64} << 20) + 4 * text.size());
    };
    std::string line; // of which every byte is a token
    while (line.size() < 34'000'000) line += "abcdefg hij klmno pqrs. ";
    train(line, {"--byte-tokenizer", "--vocab", "257"});
    std::string word, words; // a word of megabytes, and different ones
    const Random random(7, 0);
    for (std::uint64_t i = 0; i < 4'000'000; ++i) {
        const char letter = static_cast<char>('a' + random.below(i, 26));
        if (i < 1'000'000) word += letter;
        words += letter;
        if (i % 6 == 5) words += ' ';
    }
    train(word, {"--vocab", "400"});
    train(words, {"--vocab", "400"});
}

TEST_F(CliTrain, StoppedAndResumedItGivesTheSameBytes) {
    const std::vector<std::string> whole =
        words({"--checkpoint", path("c"), "--resume", "--checkpoint-every", "10", "--tokens", "12800"});
    expect_success(run_program(whole));
    const std::string expected = file_content(path("w.safetensors"));
    std::filesystem::remove(path("c"));
    std::filesystem::remove(path("w.safetensors"));

    const Outcome stopped = run_program(whole, {.signal = SIGINT, .signal_file = path("c")});
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_FALSE(stopped.died);
    EXPECT_NE(stopped.err.find("--resume goes on from the checkpoint"), std::string::npos) << stopped.err;
    EXPECT_EQ(stopped.out, "");
    expect_only({"c"});
    expect_success(run_program(whole));
    EXPECT_EQ(file_content(path("w.safetensors")), expected);
}

TEST_F(CliTrain, KilledWhileItSavesItLeavesAWholeCheckpoint) {
    const std::vector<std::string> endless =
        words({"--checkpoint", path("c"), "--resume", "--checkpoint-every", "1", "--tokens", "100000000"});
    for (const int milliseconds : {0, 1, 3, 7}) {
        const Outcome killed = run_program(
            endless,
            {.signal = SIGKILL, .signal_file = path("c"), .signal_delay = std::chrono::milliseconds(milliseconds)});
        EXPECT_EQ(killed.code, 128 + SIGKILL);
        // The run resumes from whatever the stopped run left.
        const Outcome resumed =
            run_program(endless, {.signal = SIGTERM, .signal_delay = std::chrono::milliseconds(300)});
        EXPECT_EQ(resumed.code, 143) << resumed.err;
        EXPECT_EQ(resumed.err.find("ordo: " + path("c")), std::string::npos) << resumed.err;
    }
}

// The last evaluation covers the whole held-out text, and may take longer than the training.
TEST_F(CliTrain, StoppedInTheLastEvaluationItGoesOnFromThere) {
    std::string text;
    for (int i = is_instrumented() ? 6'000 : 60'000; i > 0; --i) text += "The " + std::to_string(i) + " cats.\n";
    put_file(dir_ / "val.txt", text);
    const std::vector<std::string> whole =
        words({"--checkpoint", path("c"), "--resume", "--tokens", "640", "--eval-tokens", "64"});
    std::vector<std::string> begun = whole; // without the warning of --resume
    std::erase(begun, "--resume");
    // After the line of the last step.
    const Outcome stopped = run_program(begun, {.signal = SIGINT, .signal_after = 1});
    EXPECT_TRUE(stopped.err.starts_with("ordo: step 10/10: loss ")) << stopped.err;
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    EXPECT_FALSE(stopped.died);
    EXPECT_NE(stopped.err.find("--resume goes on from the checkpoint"), std::string::npos) << stopped.err;
    EXPECT_EQ(stopped.out, "");
    expect_only({"c"});
    const Outcome resumed = run_program(whole);
    expect_success(resumed);
    EXPECT_EQ(resumed.err, ""); // no step or evaluation was left
    const std::string weights = file_content(path("w.safetensors"));
    std::filesystem::remove(path("c"));
    EXPECT_EQ(run_program(whole).out, resumed.out);
    EXPECT_EQ(file_content(path("w.safetensors")), weights);
}

TEST_F(CliTrain, WhatIsThereIsReplacedOnlyWhenAsked) {
    const std::vector<std::string> run = words({"-q", "--checkpoint", path("c"), "--log", path("l")});
    expect_success(run_program(run));
    const std::string checkpoint = file_content(path("c")), log = file_content(path("l"));
    expect_error(run_program(run), 2, "--overwrite replaces it");
    expect_error(run_program(words({"-q", "--log", path("l")})), 2, "--overwrite replaces it");
    EXPECT_EQ(file_content(path("c")), checkpoint);
    EXPECT_EQ(file_content(path("l")), log);
    std::vector<std::string> again = run;
    again.insert(again.end(), {"--overwrite", "--seed", "5"});
    expect_success(run_program(again));
    EXPECT_NE(file_content(path("c")), checkpoint);
    EXPECT_NE(file_content(path("l")), log);

    std::string damaged = checkpoint;
    damaged.back() = static_cast<char>(damaged.back() ^ 1);
    put_file(path("c"), damaged);
    std::vector<std::string> resumed = run;
    resumed.emplace_back("--resume");
    expect_error(run_program(resumed), 3, "the file is damaged");
}

TEST_F(CliTrain, ADivergedRunReplacesNothing) {
    expect_success(run_program(words({"-q"})));
    const std::string good = file_content(path("w.safetensors"));
    expect_error(run_program(words({"-q", "--lr", "10", "--min-lr", "1", "--warmup", "0"})), 1, "has diverged");
    EXPECT_EQ(file_content(path("w.safetensors")), good);
}

// The file records the options of the trunk, its initialisation and the steps.
TEST_F(CliTrain, TheMethodIsRecorded) {
    const Outcome trained = run_program(
        words({"--embedding-scale", "4", "--qk-norm", "head", "--deviation", "0", "--full-branches", "--optimizer",
               "muon", "--muon-scale", "2", "--schedule", "stable", "--decay", "0.5", "--warmup-steps", "3"}));
    ASSERT_EQ(trained.code, 0) << trained.err;
    const std::string info = run_program({"info", path("w.safetensors")}).out;
    for (const char* line : {"embedding_scale: 4", "qk_norm: head", "recipe.initial.deviation: 1/sqrt(columns)",
                             "recipe.initial.branches: full", "recipe.optimizer: muon", "recipe.optimizer.scale: 2",
                             "recipe.schedule: stable", "recipe.schedule.decay: 0.5", "recipe.warmup: 3 steps"})
        EXPECT_NE(info.find(std::string("  ") + line + "\n"), std::string::npos) << line << '\n' << info;
}

TEST_F(CliTrain, NoStepsOfWarmUpMeansNone) {
    expect_success(run_program(words({"-q", "--warmup-steps", "0"})));
    const std::string info = run_program({"info", path("w.safetensors")}).out;
    EXPECT_NE(info.find("recipe.warmup: 0 steps\n"), std::string::npos) << info;
}

TEST_F(CliTrain, ATerminalShowsOneLineThatIsGoneInTheEnd) {
    for (const int columns : {40, 80}) {
        const std::vector<std::string> long_enough = words({"--tokens", "128000"});
        const Watched watched = run_in_terminal(long_enough, columns);
        EXPECT_EQ(watched.code, 0) << watched.written;
        EXPECT_EQ(watched.screen.floods(), 0) << watched.written;
        const std::vector<std::string> lines = watched.screen.lines();
        ASSERT_GE(lines.size(), 6u) << watched.written; // the result alone, its path cut at the terminal's edge
        ASSERT_LE(lines.size(), 7u) << watched.written;
        EXPECT_EQ(lines[0], "tokens: 128000");
        EXPECT_TRUE(lines[1].starts_with("train_loss: ")) << lines[1];
        EXPECT_TRUE(lines[2].starts_with("validation_loss: ")) << lines[2];
        EXPECT_TRUE(lines[5].starts_with("file: ")) << lines[5];
        EXPECT_NE(watched.written.find("/2000"), std::string::npos) << watched.written;
        EXPECT_EQ(watched.written.find("held-out 0.000"), std::string::npos) << watched.written;
        for (const std::string& line : watched.screen.history())
            EXPECT_LE(line.size(), static_cast<std::size_t>(columns)) << line;

        const Watched stopped = run_in_terminal(long_enough, columns, [](const std::string& written) {
            return written.find(" left") == std::string::npos ? 0 : SIGINT;
        });
        EXPECT_EQ(stopped.code, 130) << stopped.written;
        EXPECT_EQ(stopped.screen.floods(), 0) << stopped.written;
        std::string message;
        for (const std::string& line : stopped.screen.lines()) message += line;
        std::erase(message, ' '); // trailing spaces of a row are lost
        const std::string partial = path("w.safetensors") + ".partial";
        EXPECT_TRUE(message.starts_with("ordo:interruptedafter")) << message;
        EXPECT_TRUE(message.ends_with("tokens;theweightsarein" + partial)) << message;
        const Outcome info = run_program({"info", partial});
        expect_success(info);
        EXPECT_EQ(info.out.find("  tokens: 128000\n"), std::string::npos) << info.out;
    }
}

} // namespace
