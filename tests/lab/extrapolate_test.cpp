// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"
#include "tests/tools/models.h"
#include "tools/lab/shipped/extrapolation.h"

#include "io/file.h"
#include "tools/cli/inputs.h"
#include "tools/opening/weights.h"

#include <map>

namespace ordo::lab {
namespace {

using test::number;

// A model that is known to have a limit, and a model without one.
const char* const learned = "weights/learned.safetensors";
const char* const rope = "weights/rope.safetensors";

TEST(LabExtrapolate, LearnedStopsAtItsTableAndSaysSo) {
    const Result result = test::run(extrapolate_experiment,
                                    {"--model", learned, "--length", "128,256,512", "--corpus", "weights/heldout.txt"});
    EXPECT_EQ(test::table(result, "last").rows.size(), 2u);
    EXPECT_TRUE(has(result.found[0], "a window of 512 is refused (learned: expected positions below 256, found 511)"));
    EXPECT_TRUE(test::says(result, "Expectation 7 held."));
}

// A file that claims 96 trained tokens, with a table of 64 rows.
TEST(LabExtrapolate, AnEncodingMayRefuseTheTrainedLength) {
    const ordo::test::TempDir dir;
    std::string file = ordo::test::file_content(ordo::test::model_file("learned"));
    const std::string context = R"(\"context\":64)";
    const std::size_t at = file.find(context);
    ASSERT_NE(at, std::string::npos);
    file.replace(at + context.size() - 2, 2, "96");
    ordo::test::put_file(dir / "longer.safetensors", file);
    const std::string model = (dir / "longer.safetensors").string();
    const Result result = test::run(extrapolate_experiment,
                                    {"--model", model.c_str(), "--length", "32,96", "--corpus", "weights/heldout.txt"});
    EXPECT_TRUE(has(result.found[0], "a window of 96 is refused"));
    const tools::Figures& table = test::table(result, "lengths");
    ASSERT_EQ(table.rows.size(), 2u);
    EXPECT_GT(number(table.rows[0][4]), 0);
    EXPECT_TRUE(std::isnan(number(table.rows[0][8]))); // no value to compare with
}

// The whole windows at one length equal those of `ordo perplexity`. Here a Session computes them one token at a time.
TEST(LabExtrapolate, SameTokensAtEveryLengthScoredAsASessionDoes) {
    const Result result =
        test::run(extrapolate_experiment, {"--model", rope, "--length", "64,256", "--corpus", "weights/heldout.txt"});
    const tools::Figures& table = test::table(result, "lengths");
    ASSERT_EQ(table.rows.size(), 4u);
    for (const std::size_t window : {0, 1})
        EXPECT_EQ(number(table.rows[window][4]), number(table.rows[window + 2][4])); // tokens
    EXPECT_EQ(number(table.rows[2][8]), 0);                                          // 256 is the trained length

    const Model model = Model::load(rope);
    const std::vector<tools::Document> documents =
        tools::read_documents(tools::read_input("weights/heldout.txt", tools::most_text), model, "weights/heldout.txt");
    Session session(model, {.capacity = 64, .chunk = 64, .first_position = 0});
    double sum = 0;
    int count = 0;
    for (const tools::Document& document : documents) {
        if (document.tokens.size() < 256) continue;
        for (std::size_t start = 0; start < 256; start += 64) { // --quick reads no more of each document
            session.rewind(0);
            for (std::size_t at = start; at + 1 < start + 64; ++at) {
                const auto logits = session.feed(std::span(document.tokens).subspan(at, 1));
                sum += test::nats(logits, document.tokens[at + 1]);
                ++count;
            }
        }
    }
    EXPECT_EQ(number(table.rows[0][4]), count);
    EXPECT_NEAR(number(table.rows[0][5]), sum / count, 1e-4);
}

TEST(LabExtrapolate, LengthsMustDivideOneAnother) {
    const auto refusal = [](const char* lengths) {
        return error_of([&] { test::run(extrapolate_experiment, {"--model", rope, "--length", lengths}); });
    };
    EXPECT_TRUE(has(refusal("100,256"), "expected each a multiple of the one before, found 256 after 100"));
    EXPECT_TRUE(has(refusal("64,128"), "expected the 256 that rope was trained on"));
    EXPECT_EQ(refusal("1,256"), "option --length: expected lengths of 2 tokens or more, found 1");
}

// Press et al. 2022, table 2: the best method is nowhere worse than the methods it is compared with.
TEST(LabExtrapolate, PublishedFiguresAgreeWithOneAnother) {
    Result result;
    judge(std::span<const Extrapolation>(), result);
    const tools::Figures& published = test::table(result, "published");
    ASSERT_EQ(published.rows.size(), 4u * 5u);
    const std::map<std::string, std::string> best_at{
        {"sinusoidal", "532"}, {"rotary", "712"}, {"T5 bias", "1112"}, {"ALiBi", "12512"}};
    for (const auto& row : published.rows) {
        const auto& encoding = std::get<std::string>(row[0]);
        EXPECT_GE(number(row[2]),
                  test::cell(published, {{"encoding", encoding}, {"length", best_at.at(encoding)}}, "perplexity"));
    }
}

// Published and measured points, each divided by the value at the trained length.
TEST(LabExtrapolate, PublishedCurvesStandBesideOurs) {
    Extrapolation ours;
    ours.name = ours.encoding = "rope";
    ours.context = 256;
    ours.whole = {{128, {3.0, 3.0}}, {256, {1.0, 2.0}}, {512, {2.0, 2.0}}};
    const std::vector<Extrapolation> all{ours};
    Result result;
    judge(all, result);
    const auto& curves = test::picture<Curves>(result, "published-curve");
    ASSERT_EQ(curves.series.size(), 5u);
    EXPECT_EQ(curves.series[0].label, "sinusoidal, published");
    EXPECT_EQ(curves.series[1].label, "rope, published"); // under the name that determines its colour
    EXPECT_NEAR(curves.series[0].x.back(), 4512 / 512.0, 1e-12);
    EXPECT_NEAR(curves.series[0].y.back(), 209.37 / 20.05, 1e-12);
    EXPECT_NEAR(curves.series[3].x.back(), 12512 / 512.0, 1e-12); // ALiBi is best there
    EXPECT_EQ(curves.series[4].label, "rope, here");
    EXPECT_EQ(curves.series[4].x, (std::vector<double>{1, 2}));
    EXPECT_NEAR(curves.series[4].y[1], std::exp(0.5), 1e-12);
    for (const Series& series : curves.series) {
        EXPECT_EQ(series.x.front(), 1);
        EXPECT_EQ(series.y.front(), 1);
    }
}

Extrapolation made_up(const char* encoding, double near, double far) {
    Extrapolation one;
    one.name = one.encoding = encoding;
    one.context = 100;
    for (int i = 0; i < 50; ++i) {
        one.last[100].push_back(near + 0.01 * (i % 3));
        one.last[800].push_back(far + 0.01 * (i % 5));
        one.last_documents.push_back(i / 10);
    }
    return one;
}

TEST(LabExtrapolate, MissesAreReported) {
    const auto outcome = [](const std::vector<Extrapolation>& all, std::size_t expectation) {
        Result result;
        judge(all, result);
        return result.found.at(expectation - 1).substr(13, 7);
    };
    EXPECT_EQ(outcome({made_up("rope", 1, 2)}, 3), " held.");
    EXPECT_EQ(outcome({made_up("rope", 2, 1)}, 3), " was mi");
    EXPECT_EQ(outcome({made_up("rope", 1, 0.99)}, 3), " is und");
    // One document is never enough for a decision, however many tokens it has.
    Extrapolation one = made_up("rope", 1, 2);
    one.last_documents.assign(50, 0);
    EXPECT_EQ(outcome({one}, 3), " is und");
    EXPECT_EQ(outcome({made_up("alibi", 1, 1)}, 2), " held.");
    EXPECT_EQ(outcome({made_up("alibi", 1, 1.2)}, 2), " was mi");
    EXPECT_EQ(outcome({}, 3), " could ");
    EXPECT_EQ(outcome({made_up("rope", 1, 2), made_up("alibi", 1, 1)}, 8), " held.");
    EXPECT_EQ(outcome({made_up("rope", 1, 2), made_up("alibi", 1, 3)}, 8), " was mi");
}

} // namespace
} // namespace ordo::lab
