// SPDX-License-Identifier: MIT
// A run must not lose weights at its end, replace a text, or lose or repeat rows of its log. It must find such problems
// before the first step.
#include "core/memory.h"
#include "formats/architecture.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tests/train/small_run.h"
#include "tools/cli/options.h"
#include "tools/train/log.h"
#include "training/network.h"

#include <malloc.h>

namespace ordo::train {
namespace {

using test::put_file;

class TrainingFiles : public Training {
protected:
    struct Failed {
        ErrorCode code = ErrorCode::failure;
        std::string text = "no error";
        std::int64_t steps = 0; // before the failure
    };
    static Failed failure(Options o) {
        Failed failed;
        o.on_step = [&, inner = o.on_step](std::int64_t step) {
            failed.steps = step;
            if (inner) inner(step);
        };
        try {
            run(o);
        } catch (const Error& e) {
            failed.code = e.code;
            failed.text = e.what();
        }
        return failed;
    }
    static void expect_refused(const Options& o, ErrorCode code, const std::string& phrase) {
        const Failed failed = failure(o);
        EXPECT_EQ(failed.code, code) << failed.text;
        EXPECT_NE(failed.text.find(phrase), std::string::npos) << failed.text;
        EXPECT_EQ(failed.steps, 0) << failed.text;
    }
    Options with_checkpoint(const std::string& name) const {
        Options o = options(name);
        o.checkpoint = dir_ / (name + ".checkpoint");
        o.resume = true;
        o.overwrite = false;
        return o;
    }
    // A run stopped after step 7. Its checkpoint covers seven rows of the log and one loss.
    Options stopped(const std::string& name) const {
        Options o = with_checkpoint(name);
        o.on_step = [](std::int64_t step) {
            if (step == 7) interrupt();
        };
        EXPECT_TRUE(run(o).interrupted);
        o.on_step = {};
        return o;
    }
};

// ---- Checkpoint and log -------------------------------------------------------------------------

TEST_F(TrainingFiles, ACheckpointDoesNotGrowWithTheRun) {
    Options o = with_checkpoint("short");
    o.batch = 1;
    o.checkpoint_every = 1000;
    o.tokens = 24 * 60; // more steps than the checkpoint keeps losses for
    run(o);
    Options longer = with_checkpoint("longer");
    longer.batch = 1;
    longer.checkpoint_every = 1000;
    longer.tokens = 24 * 600;
    run(longer);
    EXPECT_GT(fs::file_size(longer.log), fs::file_size(o.log) + 10'000);
    EXPECT_LT(fs::file_size(longer.checkpoint), fs::file_size(o.checkpoint) + 1'000);
}

TEST_F(TrainingFiles, WeightsAreWrittenThoughTheCheckpointCannotBe) {
    Options o = with_checkpoint("run");
    o.checkpoint_every = 1000;
    o.on_step = [&](std::int64_t step) {
        if (step == 12) fs::remove(o.checkpoint), fs::create_directory(o.checkpoint);
    };
    const Failed failed = failure(o);
    EXPECT_EQ(failed.code, ErrorCode::io) << failed.text;
    EXPECT_NE(failed.text.find("run.checkpoint"), std::string::npos) << failed.text;
    ASSERT_TRUE(fs::exists(o.out));
    run(options("whole"));
    EXPECT_EQ(bytes(o.out), bytes(dir_ / "whole.safetensors"));
}

TEST_F(TrainingFiles, TheCheckpointIsWrittenThoughTheWeightsCannotBe) {
    Options o = with_checkpoint("run");
    o.checkpoint_every = 1000;
    o.on_step = [&](std::int64_t step) {
        if (step == 12) fs::create_directory(o.out);
    };
    const Failed failed = failure(o);
    EXPECT_EQ(failed.code, ErrorCode::io) << failed.text;
    EXPECT_NE(failed.text.find("run.safetensors"), std::string::npos) << failed.text;
    fs::remove(o.out);
    int steps = 0;
    o.on_step = [&](std::int64_t) { ++steps; };
    run(o);
    EXPECT_EQ(steps, 0); // no step was repeated
    run(options("whole"));
    EXPECT_EQ(bytes(o.out), bytes(dir_ / "whole.safetensors"));
}

TEST_F(TrainingFiles, ALogIsCutToItsCheckpoint) {
    run(with_checkpoint("whole"));
    struct Killed {};
    Options o = with_checkpoint("killed");
    o.on_step = [](std::int64_t step) {
        if (step == 8) throw Killed(); // three steps after a checkpoint
    };
    EXPECT_THROW(run(o), Killed);
    std::ofstream(o.log, std::ios::app) << "6,432,0.001,5.1,0.1,10,\n7,50"; // later rows, the last one incomplete
    o.on_step = {};
    run(o);
    EXPECT_EQ(losses(o.log), losses(dir_ / "whole.csv"));
    run(o); // already finished: the last row is not repeated
    EXPECT_EQ(losses(o.log), losses(dir_ / "whole.csv"));
}

TEST_F(TrainingFiles, ALogThatIsNotTheCheckpointsIsRefused) {
    Options o = stopped("run");
    const std::string log = bytes(o.log);
    const std::string beginning = log.substr(0, log.size() - 1), other(log.size() + 100, 'x');
    for (const std::string& content : {beginning, other}) {
        put_file(o.log, content);
        expect_refused(o, ErrorCode::io, "run.csv");
        EXPECT_EQ(bytes(o.log), content);
    }
    fs::remove(o.log);
    expect_refused(o, ErrorCode::io, "run.csv");
    EXPECT_FALSE(fs::exists(o.log));

    Options without = o; // the message suggests this
    without.log.clear();
    run(without);
    run(options("whole"));
    EXPECT_EQ(bytes(o.out), bytes(dir_ / "whole.safetensors"));
}

// The checkpoint of a run without a log knows of no rows. A log with rows belongs to another run.
TEST_F(TrainingFiles, ALogThatStartsLateHasAHeader) {
    Options o = with_checkpoint("run");
    o.log.clear();
    o.on_step = [](std::int64_t step) {
        if (step == 7) interrupt();
    };
    EXPECT_TRUE(run(o).interrupted);
    o.on_step = {};
    o.log = dir_ / "late.csv";
    const std::string rows = csv_header() + "1,72,0.1,5,1,0,\n";
    put_file(o.log, rows);
    expect_refused(o, ErrorCode::io, "late.csv: expected a log without rows");
    EXPECT_EQ(bytes(o.log), rows);
    put_file(o.log, csv_header()); // of a run that left no checkpoint
    run(o);
    const std::string log = bytes(o.log);
    EXPECT_TRUE(log.starts_with(csv_header() + "8,")) << log;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1 + 5 + 1) << log; // header, steps 8 to 12, held-out loss
}

TEST_F(TrainingFiles, TheHelpNamesTheColumnsOfTheLog) {
    std::string columns = csv_header();
    columns.pop_back();
    for (std::size_t at = 0; (at = columns.find(',', at)) != std::string::npos; at += 2) columns.insert(at + 1, " ");
    std::string help;
    for (const tools::OptionGroup& group : tools::find_verb("train").groups)
        for (const tools::Option& option : group.options)
            if (option.name == "log") help = option.help;
    EXPECT_TRUE(help.starts_with("Write a CSV of " + columns + ".")) << help;
}

// ---- Existing files ------------------------------------------------------------------------------

TEST_F(TrainingFiles, ACheckpointOrLogThatExistsIsNotReplacedUnasked) {
    Options o = options("run");
    o.checkpoint = dir_ / "run.checkpoint";
    o.overwrite = false;
    run(o);
    const std::string checkpoint = bytes(o.checkpoint), log = bytes(o.log), weights = bytes(o.out);
    const Options again = o;
    expect_refused(o, ErrorCode::usage, "run.checkpoint: exists; --resume goes on from it, --overwrite replaces it");
    o.checkpoint.clear();
    expect_refused(o, ErrorCode::usage, "run.csv: exists; --resume goes on with it, --overwrite replaces it");
    EXPECT_EQ(bytes(again.checkpoint), checkpoint);
    EXPECT_EQ(bytes(o.log), log);

    o = again;
    o.overwrite = true;
    o.seed = 2; // a different run
    run(o);
    EXPECT_NE(bytes(o.checkpoint), checkpoint);
    EXPECT_NE(bytes(o.log), log);
    EXPECT_NE(bytes(o.out), weights); // weights are always replaced, as a whole
}

TEST_F(TrainingFiles, AResumedRunCutsNoFileThatIsNotALog) {
    Options o = with_checkpoint("run"); // no checkpoint exists yet
    put_file(o.log, "my notes");
    expect_refused(o, ErrorCode::io, "run.csv");
    EXPECT_EQ(bytes(o.log), "my notes");
    put_file(o.log, csv_header() + "1,72,0.1,5,1,0,\n"); // of a run whose checkpoint was renamed or lost
    const std::string rows = bytes(o.log);
    expect_refused(o, ErrorCode::usage, "run.csv, found no file; give another --log to start a new training");
    EXPECT_EQ(bytes(o.log), rows);
    put_file(o.log, "");
    run(o);
    EXPECT_TRUE(bytes(o.log).starts_with(csv_header() + "1,"));
}

// A run that resumes or starts anew deletes its own leftovers from when it was killed, and no other files.
TEST_F(TrainingFiles, LeftoversOfAKilledRunAreCleared) {
    const Options o = stopped("run");
    const std::vector<std::string> own{".run.checkpoint.ordo-0.tmp", ".run.safetensors.ordo-3.tmp"},
        others{".other.checkpoint.ordo-0.tmp", ".run.checkpoint.tmp", "run.checkpoint.ordo-0.tmp"};
    for (const std::vector<std::string>& names : {own, others})
        for (const std::string& name : names) put_file(dir_ / name, "half a file");
    run(o);
    for (const std::string& name : own) EXPECT_FALSE(fs::exists(dir_ / name)) << name;
    for (const std::string& name : others) EXPECT_TRUE(fs::exists(dir_ / name)) << name;
}

// ---- Before the first step ----------------------------------------------------------------------

TEST_F(TrainingFiles, AFolderThatIsNotThereIsFoundBeforeTheFirstStep) {
    for (fs::path Options::*file : {&Options::out, &Options::checkpoint, &Options::log}) {
        Options o = with_checkpoint("run");
        o.*file = dir_ / "no" / "such" / "file";
        expect_refused(o, ErrorCode::io, "no/such/file");
        o.*file = dir_; // a folder
        expect_refused(o, ErrorCode::io, dir_.string());
    }
}

TEST_F(TrainingFiles, NoFileIsBothReadAndWritten) {
    const std::string text = bytes(dir_ / "corpus.txt");
    fs::create_symlink(dir_ / "corpus.txt", dir_ / "link.txt");
    for (fs::path Options::*written : {&Options::out, &Options::checkpoint, &Options::log}) {
        for (fs::path Options::*read : {&Options::corpus, &Options::validation, &Options::finish, &Options::init})
            for (const char* name : {"corpus.txt", "link.txt", "../x/./corpus.txt"}) {
                Options o = with_checkpoint("run");
                o.*read = dir_ / "corpus.txt";
                o.*written = std::string(name).starts_with("..") ? dir_ / ".." / dir_.filename() / "." / "corpus.txt"
                                                                 : dir_ / name;
                expect_refused(o, ErrorCode::usage, "expected another file than that of --");
            }
        for (fs::path Options::*other : {&Options::out, &Options::checkpoint, &Options::log}) {
            Options o = with_checkpoint("run");
            if (other == written) continue;
            o.*written = o.*other = dir_ / "new";
            expect_refused(o, ErrorCode::usage, "expected another file than that of --");
        }
    }
    EXPECT_EQ(bytes(dir_ / "corpus.txt"), text);
}

TEST_F(TrainingFiles, TheFinishIsAFifthUnlessAskedOtherwise) {
    put_file(dir_ / "other.txt", std::string(2000, 'x'));
    Options o = options("run");
    o.finish = dir_ / "other.txt";
    run(o);
    const std::string by_default = bytes(o.out);
    const Model model = Model::load(o.out);
    EXPECT_EQ(model.metadata("finish.tokens"), "172"); // of 864 tokens
    EXPECT_EQ(model.metadata("finish.seen"), "144");   // two steps of 72
    o.finish_tokens = 172;
    run(o);
    EXPECT_EQ(bytes(o.out), by_default);
    o.finish_tokens = 71;
    expect_refused(o, ErrorCode::usage, "at least one step of 72");
    o.finish_tokens = 865;
    expect_refused(o, ErrorCode::usage, "the budget of 864");
    o.finish_tokens = 0;
    o.finish = dir_ / "absent.txt";
    expect_refused(o, ErrorCode::io, "absent.txt");
}

TEST_F(TrainingFiles, ATrunkBeyondTheMemoryIsRefused) {
    Options o = options("run");
    o.batch = 65'536; // 2^30 rows: a terabyte of activations
    o.blueprint.context = 1 << 14;
    o.tokens = std::int64_t{1} << 30;
    expect_refused(o, ErrorCode::limit, "1073741824 tokens take ");
    o.blueprint.context = 1 << 22; // more rows than an int counts
    o.tokens = std::int64_t{1} << 38;
    expect_refused(o, ErrorCode::limit, "274877906944 tokens take ");
    o = options("run");
    o.blueprint.d_model = 65'536; // parameters: 16 * 12 layers of d^2
    o.blueprint.d_head = 1'024;
    o.blueprint.n_heads = o.blueprint.n_kv_heads = 64;
    o.blueprint.d_ff = 1 << 20;
    o.blueprint.n_layers = 1'000;
    expect_refused(o, ErrorCode::limit, "72 tokens take ");
}

// Compares the total that is checked against the limit with the memory allocated by the C library and map_zeros().
TEST_F(TrainingFiles, TheMemoryThatIsCountedIsTheMemoryThatIsTaken) {
    const auto taken = [] {
        const auto now = mallinfo2();
        return static_cast<double>(now.uordblks + now.hblkhd + mapped_bytes());
    };
    const double nothing = taken();
    const std::vector<char> some(1 << 16); // more than the C library keeps free, so that it counts
    if (taken() == nothing) GTEST_SKIP() << "memory that the C library does not count";
    for (const Architecture& a : architectures()) {
        Blueprint b = a.make();
        if (b.qk_norm == QkNorm::rotated) continue; // its training is refused
        b.vocab_size = 300;
        b.context = 100;
        b.n_layers = 3;
        b.n_heads = b.n_kv_heads = 4;
        b.d_head = 16;
        b.d_model = 64;
        b.d_ff = 200;
        fit_encoder(b);
        const int input = b.encoder.empty() ? 0 : 60;
        ModelEncodings encodings("segment+learned", b.dims());
        const double before = taken();
        Parameters parameters(b, encodings);
        const double between = taken();
        EXPECT_NEAR(static_cast<double>(Parameters::floats(b, encodings)) * 2 * sizeof(float), between - before,
                    0.01 * (between - before))
            << a.name;
        const Network network(b, encodings, parameters, 8, 100, {}, input);
        const double after = taken();
        // The memory of experts in the backward pass is counted but not yet allocated.
        const double counted = Network::floats(b, encodings, 8, 100, input) * sizeof(float);
        EXPECT_GE(counted, 0.99 * (after - between)) << a.name;
        EXPECT_LE(counted, (b.experts > 0 ? 1.3 : 1.01) * (after - between)) << a.name;
    }
}

// ---- In the program -----------------------------------------------------------------------------

TEST_F(TrainingFiles, TheProgramEndsWithTheCodeOfWhatIsWrong) {
    const auto with = [&](std::vector<std::string> more) {
        std::vector<std::string> all{"train", "--corpus", (dir_ / "corpus.txt").string(), "--val",
                                     (dir_ / "held.txt").string()};
        for (const char* word : {"--byte-tokenizer", "--layers", "1", "--dim", "16", "--heads", "2", "--ffn", "32"})
            all.emplace_back(word);
        if (std::find(more.begin(), more.end(), "--ctx") == more.end())
            more.insert(more.end(), {"--ctx", "16", "--batch", "2", "--tokens", "640"});
        if (std::find(more.begin(), more.end(), "--out") == more.end())
            more.insert(more.end(), {"--out", (dir_ / "out").string()});
        all.insert(all.end(), more.begin(), more.end());
        return test::run_program(all);
    };
    test::expect_error(with({"--out", (dir_ / "corpus.txt").string()}), 2, "--out");
    test::expect_error(with({"--finish-tokens", "320"}), 2, "--finish FILE");
    test::expect_error(with({"--finish", (dir_ / "absent").string()}), 5, "absent");
    test::expect_error(with({"--out", (dir_ / "no" / "out").string()}), 5, "no/out");
    test::expect_error(with({"--ctx", "16384", "--batch", "65536", "--tokens", "1073741824"}), 4, "training: ");
    test::expect_success(with({"--finish", (dir_ / "held.txt").string()}));
}

// 1,600,000 tokens were requested, in steps of 8 * 256, and 781 steps were made.
TEST_F(TrainingFiles, ACardSaysWhatWasSeen) {
    const std::string command = "tools/scripts/card.sh '" + test::program_path() + "' weights/none.safetensors";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> card(::popen(command.c_str(), "r"), ::pclose);
    ASSERT_TRUE(card);
    std::string text;
    for (int c = 0; (c = std::fgetc(card.get())) != EOF;) text += static_cast<char>(c);
    EXPECT_NE(text.find("| tokens seen | 11,999,232 |"), std::string::npos) << text;
}

} // namespace
} // namespace ordo::train
