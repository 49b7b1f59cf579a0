// SPDX-License-Identifier: MIT
// --overwrite takes the files that the same options wrote, and no other.
#include "tests/temp_dir.h"
#include "tests/train/training.h"
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

// Only what the same option wrote, by its first bytes.
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
    for (const std::size_t kept : {std::size_t{0}, checkpoint.size() / 2, checkpoint.size()}) { // one that was cut, too
        put_file(o.checkpoint, checkpoint.substr(0, kept));
        put_file(o.log, log.substr(0, kept == 0 ? 0 : csv_header().size() + 3));
        run(o);
        EXPECT_EQ(bytes(o.checkpoint).size(), checkpoint.size());
        EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), std::ranges::count(bytes(o.log), '\n'));
    }
}

} // namespace
} // namespace ordo::train
