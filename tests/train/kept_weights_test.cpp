// SPDX-License-Identifier: MIT
// The weights that a run writes: the best on the held-out text, or the last. Weights that are not finite are never
// written.
#include "io/safetensors.h"
#include "tests/temp_dir.h"
#include "tests/train/small_run.h"

#include <cstring>
#include <sstream>

namespace ordo::train {
namespace {

using test::put_file;

class KeptWeights : public Training {
protected:
    // A run whose held-out loss falls for 30 steps and rises for 30 more, on a text without words.
    Options rising(const std::string& name) const {
        put_file(dir_ / "other.txt", std::string(2000, 'x'));
        Options o = options(name);
        o.tokens = 24 * 3 * 60;
        o.finish = dir_ / "other.txt";
        o.finish_tokens = 24 * 3 * 30;
        return o;
    }
    // The steps and held-out losses in the log.
    static std::vector<std::pair<std::int64_t, double>> evaluations(const Options& o) {
        std::vector<std::pair<std::int64_t, double>> all;
        std::istringstream log(bytes(o.log));
        for (std::string line; std::getline(log, line);)
            if (const std::size_t at = line.find(",,,,,"); at != std::string::npos)
                all.emplace_back(std::stoll(line), std::stod(line.substr(at + 5)));
        return all;
    }
    static std::vector<float> floats(const fs::path& file, const std::string& name, std::size_t most) {
        const Safetensors in = Safetensors::open(file);
        std::vector<float> values(in.find(name)->elements);
        in.read(*in.find(name), values);
        values.resize(std::min(most, values.size()));
        return values;
    }
    static std::pair<ErrorCode, std::string> failure(const Options& o) {
        try {
            run(o);
        } catch (const Error& e) {
            return {e.code, e.what()};
        }
        return {ErrorCode::failure, "no error"};
    }
    void put_nan(const fs::path& file, const std::string& tensor) const {
        const std::uint64_t end = [&] {
            const Safetensors in = Safetensors::open(file);
            return in.find(tensor)->offset + in.find(tensor)->bytes;
        }();
        std::string content = bytes(file);
        const float nan = std::nanf("");
        std::memcpy(content.data() + end - sizeof nan, &nan, sizeof nan);
        put_file(file, content);
    }
};

TEST_F(KeptWeights, AreTheBestOnTheHeldOutText) {
    Options o = rising("best");
    std::vector<std::string> warnings;
    o.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    const Result result = run(o);
    const auto all = evaluations(o);
    ASSERT_EQ(all.size(), 10u); // every sixth step, including the last
    const auto best = *std::min_element(all.begin(), all.end(), [](auto& a, auto& b) { return a.second < b.second; });
    ASSERT_LT(best.first, 60);
    EXPECT_NEAR(result.validation_loss, best.second, 1e-5); // each evaluation scores the whole held-out text
    EXPECT_NEAR(engine_loss(o), result.validation_loss, 1e-5);
    EXPECT_EQ(result.tokens, 60 * 72);
    EXPECT_EQ(result.kept_tokens, best.first * 72);
    const Model model = Model::load(o.out);
    EXPECT_EQ(model.metadata("tokens"), std::to_string(60 * 72));
    EXPECT_EQ(model.metadata("kept.tokens"), std::to_string(best.first * 72));
    EXPECT_EQ(model.metadata("keep"), "best");
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("at step " + std::to_string(best.first) + " to "), std::string::npos) << warnings[0];

    // The best weights equal those in a checkpoint of that step.
    Options stopped = o;
    stopped.out = dir_ / "stopped.safetensors";
    stopped.checkpoint = dir_ / "stopped.checkpoint";
    stopped.on_step = [&](std::int64_t step) {
        if (step == best.first) interrupt();
    };
    ASSERT_TRUE(run(stopped).interrupted);
    EXPECT_EQ(floats(o.out, "embedding.weight", 1 << 20), floats(stopped.checkpoint, "value", 257 * 16));
}

TEST_F(KeptWeights, AreTheLastWhereThatIsAskedFor) {
    Options o = rising("last");
    o.keep = Keep::last;
    o.checkpoint = dir_ / "last.checkpoint";
    std::vector<std::string> warnings;
    o.on_warning = [&](std::string_view text) { warnings.emplace_back(text); };
    const Result result = run(o);
    EXPECT_NEAR(result.validation_loss, evaluations(o).back().second, 1e-5);
    EXPECT_EQ(result.kept_tokens, 60 * 72);
    EXPECT_EQ(Model::load(o.out).metadata("keep"), "last");
    EXPECT_EQ(Model::load(o.out).metadata("kept.tokens"), std::to_string(60 * 72));
    EXPECT_EQ(floats(o.out, "embedding.weight", 1 << 20), floats(o.checkpoint, "value", 257 * 16));
    ASSERT_EQ(warnings.size(), 1u) << "the loss rose all the same";
    EXPECT_NE(warnings[0].find("the weights of step 60 are kept"), std::string::npos) << warnings[0];
}

TEST_F(KeptWeights, NobodyIsWarnedOfALossThatFalls) {
    Options o = options("run");
    o.on_warning = [](std::string_view text) { FAIL() << text; };
    run(o);
    EXPECT_EQ(Model::load(o.out).metadata("kept.tokens"), Model::load(o.out).metadata("tokens"));
}

// Evaluations compare weights on the same part of the text. The final report covers all of it.
TEST_F(KeptWeights, AreScoredOnAllOfTheTextInTheEnd) {
    for (const Keep keep : {Keep::best, Keep::last}) {
        Options o = rising("run");
        o.keep = keep;
        o.eval_tokens = 48;
        const Result result = run(o);
        EXPECT_NEAR(engine_loss(o), result.validation_loss, 1e-5);
        EXPECT_EQ(result.kept_tokens == result.tokens, keep == Keep::last);
    }
}

// A run may stop at any time: before or in an evaluation, even the last one.
TEST_F(KeptWeights, AreTheSameAfterStops) {
    for (const Keep keep : {Keep::best, Keep::last}) {
        Options whole = rising("whole");
        whole.keep = keep;
        whole.eval_tokens = 240; // so that a last evaluation covers the whole text
        const Result expected = run(whole);

        Options parts = whole;
        parts.out = dir_ / "parts.safetensors";
        parts.log = dir_ / "parts.csv";
        parts.checkpoint = dir_ / "parts.checkpoint";
        fs::remove(parts.out), fs::remove(parts.log), fs::remove(parts.checkpoint);
        parts.resume = true;
        parts.overwrite = false;
        for (const std::int64_t stop : {6, 31, 36, 47, 60}) {
            parts.on_step = [&](std::int64_t step) {
                if (step == stop) interrupt();
            };
            const Result part = run(parts);
            ASSERT_TRUE(part.interrupted) << stop;
            EXPECT_EQ(part.tokens, stop * 72);
            EXPECT_FALSE(fs::exists(parts.out));
        }
        parts.on_step = [](std::int64_t step) { FAIL() << step; };
        const Result result = run(parts);
        EXPECT_FALSE(result.interrupted);
        EXPECT_EQ(result.validation_loss, expected.validation_loss);
        EXPECT_EQ(result.train_loss, expected.train_loss);
        EXPECT_EQ(result.kept_tokens, expected.kept_tokens);
        EXPECT_TRUE(bytes(parts.out) == bytes(whole.out));
        EXPECT_EQ(losses(parts.log), losses(whole.log));
        run(parts); // finished already
        EXPECT_TRUE(bytes(parts.out) == bytes(whole.out));
        EXPECT_EQ(losses(parts.log), losses(whole.log));
    }
}

TEST_F(KeptWeights, ACheckpointIsOfARunThatKeepsTheSame) {
    Options o = options("run");
    o.checkpoint = dir_ / "run.checkpoint";
    run(o);
    o.resume = true;
    const auto expect_refused = [](const Options& other) {
        const auto [code, text] = failure(other);
        EXPECT_EQ(code, ErrorCode::usage) << text;
        EXPECT_NE(text.find("expected a checkpoint of this run"), std::string::npos) << text;
    };
    Options other = o;
    other.keep = Keep::last;
    expect_refused(other);
    other = o;
    other.eval_every = 5; // another step may be the best
    expect_refused(other);
    other = o;
    other.eval_tokens = 48;
    expect_refused(other);
    other = o;
    other.checkpoint_every = 7; // changes nothing
    EXPECT_NO_THROW(run(other));
}

// ---- Weights that are not finite ------------------------------------------------------------------

TEST_F(KeptWeights, OfARunThatDivergedAreNotWritten) {
    Options o = options("run");
    run(o);
    const std::string good = bytes(o.out);
    o.lr = 100; // far above the rates, about 15, at which rounding decides
    o.min_lr = 1;
    o.warmup = 0;
    for (const int steps : {100, 15}) { // stopped during the run, or at its end
        o.tokens = 72 * steps;
        const auto [code, text] = failure(o);
        EXPECT_EQ(code, ErrorCode::failure) << text;
        EXPECT_TRUE(text.starts_with("step ")) << text;
        EXPECT_NE(text.find("has diverged"), std::string::npos) << text;
        EXPECT_TRUE(bytes(o.out) == good);
    }
}

TEST_F(KeptWeights, ThatAreNotFiniteAreNotWritten) {
    Options first = options("first");
    first.encoding = "segment+rope";
    run(first);
    Options o = first;
    o.out = dir_ / "run.safetensors";
    o.checkpoint = dir_ / "run.checkpoint";
    o.checkpoint_every = 1;
    run(o);
    const std::string good = bytes(o.out), checkpoint = bytes(o.checkpoint);
    const std::string initial = bytes(first.out);
    o.init = first.out;
    const auto expect_failure = [&](const std::string& phrase) {
        const auto [code, text] = failure(o);
        EXPECT_EQ(code, ErrorCode::failure) << text;
        EXPECT_TRUE(text.starts_with("step 1: ")) << text;
        EXPECT_NE(text.find(phrase), std::string::npos) << text;
        EXPECT_TRUE(bytes(o.out) == good);
        EXPECT_TRUE(bytes(o.checkpoint) == checkpoint);
    };
    put_nan(first.out, "embedding.weight");
    expect_failure("the loss is not finite");
    // The second segment never occurs in the text, so no loss reveals its row.
    put_file(first.out, initial);
    put_nan(first.out, "encoding.segment.weight");
    expect_failure("encoding.segment.weight is not finite");
    o.eval_every = 1;
    expect_failure("encoding.segment.weight is not finite");
}

} // namespace
} // namespace ordo::train
