// SPDX-License-Identifier: MIT
// If an encoding has fewer positions than needed, the error names it. Sessions are tested elsewhere.
#include "tests/tools/child.h"
#include "tests/train/small_run.h"
#include "tools/lab/shipped/probe.h"
#include "tools/lab/study/encodings.h"
#include "tools/lab/study/small_models.h"

namespace ordo::train {
namespace {

std::string refusal(const std::function<void()>& work) {
    try {
        work();
    } catch (const Error& e) {
        EXPECT_EQ(e.code, ErrorCode::limit) << e.what();
        return e.what();
    }
    return "no error";
}

std::string expected(int positions, int tokens) {
    return "encoding learned:length=" + std::to_string(positions) + ",offset=0: expected positions for " +
           std::to_string(tokens) + " tokens, found " + std::to_string(positions);
}

TEST_F(Training, AnEncodingHasAPositionForEachTokenOfASequence) {
    Options o = options("run");
    o.corpus = dir_ / "absent.txt"; // nothing is read before the error
    for (const int length : {1, 23}) {
        o.encoding = "learned:length=" + std::to_string(length);
        EXPECT_EQ(refusal([&] { run(o); }), expected(length, 24));
        o.encoding = "segment+" + o.encoding; // as part of a sum
        EXPECT_EQ(refusal([&] { run(o); }), expected(length, 24));
    }
    EXPECT_FALSE(fs::exists(o.out) || fs::exists(o.log));
    o.corpus = dir_ / "corpus.txt";
    o.tokens = 24 * 3;
    o.encoding = "learned:length=24"; // exactly enough
    EXPECT_NO_THROW(run(o));
}

TEST_F(Training, TheModelsOfTheLabTooHaveAPositionForEachToken) {
    lab::Recipe r;
    r.trunk = options("run").blueprint;
    r.trunk.vocab_size = 10;
    r.length = r.trunk.context;
    r.draw = [](auto, auto, auto, auto) { FAIL() << "trained"; };
    lab::Meter meter(1, "training", [](const std::string&) {});
    EXPECT_EQ(refusal([&] { lab::small_model(r, "learned:length=23", 1, meter); }), expected(23, 24));
    EXPECT_EQ(refusal([&] { lab::check_recipe(r, "learned:length=2"); }), expected(2, 24));

    std::vector<float> x(8 * 5);
    const LooseEncoding loose("learned:length=4", lab::dims_of(8));
    EXPECT_EQ(refusal([&] { loose.embed(View{x.data(), 5, 8, 8}); }), expected(4, 5));
    EXPECT_EQ(refusal([&] { loose.embed(View{x.data(), 2, 8, 8}, 3); }), expected(4, 5));

    Options o = options("run");
    o.encoding = "learned:length=24";
    run(o);
    const Model model = Model::load(o.out);
    EXPECT_EQ(refusal([&] { lab::hidden_states(model, std::vector<Token>(25)); }), expected(24, 25));
}

// The error comes before any training, however many models are to be trained.
TEST_F(Training, TheLabRefusesBeforeItTrains) {
    for (const char* experiment : {"tasks", "word-order"})
        test::expect_error(test::run_program({"lab", experiment, "--encodings", "rope;learned:length=2"}), 4,
                           "encoding learned:length=2,offset=0: expected positions for ");
}

} // namespace
} // namespace ordo::train
