// SPDX-License-Identifier: MIT
#include "model/model_access.h"
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <cstdio>

namespace ordo::lab {
namespace {

using test::cell;
using test::table;

constexpr int context = ordo::test::model_context, longest = 8 * context;

std::string document(int bytes, int step) {
    std::string out;
    for (int i = 0; i < bytes; ++i) out += static_cast<char>('a' + i * i / step % 26);
    return out;
}

// Mean nats of the last `tail` tokens of a window that ends at `longest`, by a session that is fed one token at a time.
double last_cost(const Model& model, const std::string& text, int length, int tail) {
    const tools::OneThread alone;
    std::vector<Token> tokens = model.encode(text);
    if (model.start_of_text() >= 0) tokens.insert(tokens.begin(), model.start_of_text());
    Session session(model, {.capacity = length, .chunk = 1});
    double sum = 0;
    for (int at = longest - length; at + 1 < longest; ++at) {
        const auto logits = session.feed(std::span(tokens).subspan(static_cast<std::size_t>(at), 1));
        if (at + 1 < longest - tail) continue;
        sum += test::nats(logits, tokens[static_cast<std::size_t>(at) + 1]);
    }
    return sum / tail;
}

class LabExtension : public testing::Test {
protected:
    static void SetUpTestSuite() {
        directory = std::make_unique<ordo::test::TempDir>();
        texts = {document(longest + 20, 3), document(longest + 7, 5), document(longest, 7)};
        ordo::test::put_file(*directory / "text.txt",
                             texts[0] + "<|endoftext|>" + texts[1] + "<|endoftext|>too short<|endoftext|>" + texts[2]);
        result = std::make_unique<Result>(run(ordo::test::model_file("random")));
    }
    static void TearDownTestSuite() { directory.reset(), result.reset(); }

    static Result run(const std::string& model) {
        const std::string corpus = (*directory / "text.txt").string();
        return test::run(extension_experiment, {"--model", model.c_str(), "--corpus", corpus.c_str()});
    }
    static double perplexity(const char* method, const char* factor, int multiple, const char* column = "ppl_last") {
        return cell(table(*result, "lengths"),
                    {{"method", method}, {"factor", factor}, {"of_trained", std::to_string(multiple)}}, column);
    }
    // The mean over all documents, with a base for rope's frequencies.
    static double expected(double theta, int multiple) {
        LoadOptions options;
        char spec[64];
        std::snprintf(spec, sizeof spec, "rope:theta=%.17g", theta);
        options.encoding = spec;
        options.force_encoding = true;
        const Model model = Model::load(ordo::test::model_file("random"), options);
        double sum = 0;
        for (const std::string& text : texts) sum += last_cost(model, text, multiple * context, context / 2);
        return std::exp(sum / static_cast<double>(texts.size()));
    }

    static inline std::unique_ptr<ordo::test::TempDir> directory;
    static inline std::unique_ptr<Result> result;
    static inline std::vector<std::string> texts;
};

// The base that is equivalent to bloc97's scaling.
double ntk_base(double factor) {
    const Model model = Model::load(ordo::test::model_file("random"));
    const double width = blueprint_of(model).d_head;
    return 500 * std::pow(factor, width / (width - 2));
}

TEST_F(LabExtension, WithoutScalingAsASessionScores) {
    for (const int multiple : {1, 2, 8})
        EXPECT_NEAR(perplexity("none", "-", multiple) / expected(500, multiple), 1, 1e-4) << multiple;
}

TEST_F(LabExtension, NtkIsAnotherBaseWithTheFactorOfTheLengthOrOfTheGreatest) {
    const double plain = expected(500, 2), own = expected(ntk_base(2), 2);
    ASSERT_GT(std::abs(std::log(plain / own)), 1e-3) << "the model is too deaf to test anything";
    EXPECT_NEAR(perplexity("ntk", "of the length", 2) / own, 1, 1e-4);
    EXPECT_NEAR(perplexity("ntk", "8", 2) / expected(ntk_base(8), 2), 1, 1e-4);
    EXPECT_NEAR(perplexity("ntk", "8", 8) / expected(ntk_base(8), 8), 1, 1e-4);
}

// theta (2 L / L0 - 1)^(w / (w - 2)), where L is the session's length.
TEST_F(LabExtension, DynamicFollowsTheLength) {
    EXPECT_NEAR(perplexity("dynamic", "-", 1) / expected(500, 1), 1, 1e-4);
    EXPECT_NEAR(perplexity("dynamic", "-", 4) / expected(ntk_base(7), 4), 1, 1e-4);
    // s L / L0 - (s - 1) with s = 4
    const double by_4 = cell(table(*result, "factors"), {{"method", "dynamic"}, {"factor", "4"}}, "2x");
    EXPECT_NEAR(by_4 / expected(ntk_base(5), 2), 1, 1e-4);
}

TEST_F(LabExtension, AFactorOfOneStretchesNothing) {
    for (const char* method : {"linear", "ntk", "yarn"}) {
        EXPECT_EQ(perplexity(method, "of the length", 1), perplexity("none", "-", 1));
        EXPECT_EQ(perplexity(method, "of the length", 1, "nats_over_none"), 0);
    }
    EXPECT_NE(perplexity("linear", "8", 1), perplexity("none", "-", 1));
}

TEST_F(LabExtension, TakesRotaryWeightsAlone) {
    EXPECT_TRUE(has(error_of([] { run(ordo::test::model_file("alibi")); }), "expected weights trained with rope"));
}

} // namespace
} // namespace ordo::lab
