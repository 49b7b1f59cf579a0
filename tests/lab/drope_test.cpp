// SPDX-License-Identifier: MIT
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"

namespace ordo::lab {
namespace {

using test::cell;
using test::says;
using test::table;

const char* const rotary_weights = "weights/rope.safetensors";
const char* const plain_weights = "weights/none.safetensors";

// A quick run trains a few steps: the arms differ, but nothing is decided.
TEST(LabDrope, MeasuresFourArmsAndClaimsNothingWhenQuick) {
    const Result result = test::run(drope_experiment, {"--model", rotary_weights, "--model", plain_weights});
    const tools::Figures& lengths = table(result, "lengths");
    ASSERT_EQ(lengths.rows.size(), 4u * 4u);
    const auto nll = [&](const char* weights, const char* times) {
        return cell(lengths, {{"weights", weights}, {"of_trained", times}}, "nll");
    };
    EXPECT_EQ(nll("rope with yarn", "1"), nll("rope", "1")); // a factor of 1 scales nothing
    EXPECT_LT(nll("rope with yarn", "8"), nll("rope", "8"));
    EXPECT_GT(nll("without encoding", "1"), nll("rope", "1")); // these steps do not make up for it
    EXPECT_NEAR(cell(lengths, {{"weights", "rope"}, {"of_trained", "1"}}, "without_less"),
                nll("without encoding", "1") - nll("rope", "1"), 1e-9);
    EXPECT_TRUE(has(result.answer, "too little training for an answer"));
    EXPECT_FALSE(has(result.answer, "by heart"));
    EXPECT_TRUE(says(result, "Expectation 1 could not be tested: --quick trains too little"));
}

TEST(LabDrope, SaysThatAShortTextIsReadAgain) {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "Tim saw a dog. The dog ran to the park, and Tim ran too.\n";
    const ordo::test::TempDir dir;
    const std::string file = (dir.path() / "short.txt").string();
    ordo::test::put_file(file, text);
    const Result result =
        test::run(drope_experiment, {"--model", rotary_weights, "--model", plain_weights, "--corpus", file.c_str()});
    EXPECT_TRUE(has(result.answer, "times, so all weights know it by heart; --corpus names a longer one."))
        << result.answer;
}

TEST(LabDrope, WantsAFileWithoutAnEncoding) {
    EXPECT_TRUE(has(error_of([] {
                        test::run(drope_experiment, {"--model", rotary_weights});
                    }),
                    "expected a file without an encoding too, found none"));
}

} // namespace
} // namespace ordo::lab
