// SPDX-License-Identifier: MIT
// --overwrite replaces only files that the same options wrote.
#include "tests/temp_dir.h"
#include "tests/train/small_run.h"
#include "tools/train/log.h"

#include <algorithm>

namespace ordo::train {
namespace {

using test::put_file;

class Overwriting : public Training {
protected:
    static void expect_refused(const Options& o, const std::string& phrase) {
        try {
            run(o);
            ADD_FAILURE() << "accepted: " << phrase;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::io) << error.what();
            EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
        }
    }
};

// The first bytes tell whether the same option wrote the file.
TEST_F(Overwriting, TakesNoFileThatItDidNotWrite) {
    Options o = options("run");
    o.overwrite = true;
    o.checkpoint = dir_ / "run.checkpoint";
    const std::string corpus = bytes(dir_ / "corpus.txt");
    run(o);
    const std::string weights = bytes(o.out), log = bytes(o.log), checkpoint = bytes(o.checkpoint);
    for (const std::string& content :
         {weights, log, corpus, std::string("step"), std::string("{\"__metadata__\":{}}")}) {
        put_file(o.checkpoint, content);
        expect_refused(o, "run.checkpoint: expected the checkpoint of a training, found another file");
        EXPECT_EQ(bytes(o.checkpoint), content);
    }
    put_file(o.checkpoint, checkpoint);
    for (const std::string& content : {weights, checkpoint, corpus, std::string("step")}) {
        put_file(o.log, content);
        expect_refused(o, "run.csv: expected the log of a training, found another file");
        EXPECT_EQ(bytes(o.log), content);
    }
    for (const std::size_t kept : {std::size_t{0}, checkpoint.size() / 2, checkpoint.size()}) { // truncated files too
        put_file(o.checkpoint, checkpoint.substr(0, kept));
        put_file(o.log, log.substr(0, kept == 0 ? 0 : csv_header().size() + 3));
        run(o);
        EXPECT_EQ(bytes(o.checkpoint).size(), checkpoint.size());
        EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), std::ranges::count(bytes(o.log), '\n'));
    }
}

// --out replaces the weights of a training run and empty files. With --overwrite it replaces any file.
TEST_F(Overwriting, WeightsTakeThePlaceOfWeightsAlone) {
    Options o = options("run");
    o.overwrite = false;
    o.log.clear();
    run(o);
    const std::string weights = bytes(o.out), corpus = bytes(dir_ / "corpus.txt");
    run(o); // the run's own file
    for (const std::string& content :
         {corpus, weights.substr(0, weights.size() / 2), std::string("a"), std::string("\x02\0\0\0\0\0\0\0{}", 10)}) {
        put_file(o.out, content);
        try {
            run(o);
            ADD_FAILURE() << "accepted " << content.size() << " bytes";
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage);
            EXPECT_NE(std::string(error.what()).find("run.safetensors: expected the weights of a training, or no file"),
                      std::string::npos)
                << error.what();
        }
        EXPECT_EQ(bytes(o.out), content);
    }
    o.overwrite = true;
    run(o);
    EXPECT_TRUE(bytes(o.out) == weights);
    put_file(o.out, "");
    o.overwrite = false;
    run(o);
    EXPECT_TRUE(bytes(o.out) == weights);
}

// A mistyped name gives a message.
TEST_F(Overwriting, ResumingWithoutACheckpointIsSaid) {
    Options o = options("run");
    o.checkpoint = dir_ / "runn.checkpoint";
    o.log.clear();
    o.overwrite = false, o.resume = true;
    std::vector<std::string> warnings;
    o.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    run(o);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].ends_with("runn.checkpoint: found no file: a new training starts")) << warnings[0];
    warnings.clear();
    run(o);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    fs::remove(o.checkpoint);
    run(o);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("starts and replaces " + o.out.string() + " at its end"), std::string::npos);
}

// With a log it is refused before anything is read, and the log, the weights and the checkpoint stay what they are.
TEST_F(Overwriting, AMistypedCheckpointLosesNothing) {
    Options o = options("run");
    o.checkpoint = dir_ / "run.checkpoint";
    o.overwrite = false, o.resume = true;
    run(o);
    const std::string log = bytes(o.log), weights = bytes(o.out), checkpoint = bytes(o.checkpoint);
    Options mistyped = o;
    mistyped.checkpoint = dir_ / "rnu.checkpoint";
    mistyped.byte_tokenizer = false; // another training altogether
    try {
        run(mistyped);
        ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
        EXPECT_NE(std::string(error.what())
                      .find("rnu.checkpoint: expected the checkpoint of the training that wrote " + o.log.string() +
                            ", found no file; give another --log"),
                  std::string::npos)
            << error.what();
    }
    EXPECT_FALSE(fs::exists(mistyped.checkpoint));
    EXPECT_EQ(bytes(o.log), log);
    EXPECT_TRUE(bytes(o.out) == weights);
    EXPECT_TRUE(bytes(o.checkpoint) == checkpoint);
    run(o); // and the right name still goes on
}

// A script that always says --resume is killed before the first checkpoint is due, and run again.
TEST_F(Overwriting, ATrainingHasACheckpointBeforeItsFirstStep) {
    Options o = options("run");
    o.checkpoint = dir_ / "run.checkpoint";
    o.overwrite = false, o.resume = true;
    o.checkpoint_every = 1000;
    struct Killed {};
    o.on_step = [&](std::int64_t step) {
        EXPECT_EQ(fs::exists(o.checkpoint), step > 0) << step;
        if (step == 3) throw Killed();
    };
    EXPECT_THROW(run(o), Killed);
    put_file(o.log, bytes(o.log).substr(0, csv_header().size()) + "1,72,0.1,5,1,0,\n"); // rows that it wrote since
    o.on_step = {};
    run(o);
    Options whole = options("whole");
    run(whole);
    EXPECT_EQ(losses(o.log), losses(whole.log));
    EXPECT_TRUE(bytes(o.out) == bytes(whole.out));
}

} // namespace
} // namespace ordo::train
