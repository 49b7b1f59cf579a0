// SPDX-License-Identifier: MIT
// The experiments order and swap.
#include "encoding/base/registry.h"
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"

namespace ordo::lab {
namespace {

using test::cell;

// PE of width 8: sin and cos of p and of p / 10.
TEST(LabOrder, TraceAddsTheWavesToTheWordVectors) {
    const Result result = test::run(order_experiment, {"-p", "a b a"});
    const tools::Figures& trace = test::table(result, "trace");
    ASSERT_EQ(trace.rows.size(), 9u);
    for (int n = 0; n < 3; ++n) {
        const double wave[] = {std::sin(n), std::cos(n), std::sin(n / 10.0), std::cos(n / 10.0)};
        for (std::size_t j = 0; j < 4; ++j) {
            const auto at = [&](const char* vector) {
                return cell(trace, {{"position", std::to_string(n)}, {"vector", vector}}, "dim" + std::to_string(j));
            };
            EXPECT_NEAR(at("p"), wave[j], 1e-6);
            EXPECT_NEAR(at("w = e + p"), at("e") + wave[j], 1e-6);
        }
    }
    EXPECT_EQ(test::number(trace.rows[0][3]), test::number(trace.rows[6][3])); // the same word has the same e
}

// The pair that a sentence of one's own is compared with, and a cell of the table.
TEST(LabOrder, OwnSentencesAreReversedOrCompared) {
    const Result reversed = test::run(order_experiment, {"-p", "dog bites man"});
    EXPECT_TRUE(has(reversed.tables[0].title, "1: \"dog bites man\" and \"bites dog man\"; 2: "));
    EXPECT_TRUE(has(reversed.tables[0].title, "\"man bites dog\""));
    // With the last word fixed only the order differs, which one layer without position cannot see.
    const tools::Figures& table = test::table(reversed, "rows");
    EXPECT_LT(cell(table, {{"pair", "1"}, {"encoding", "none"}}, "one_layer_logits_differ"), 1e-4);
    EXPECT_GT(cell(table, {{"pair", "1"}, {"encoding", "rope"}}, "one_layer_logits_differ"), 1e-3);
    EXPECT_GT(cell(table, {{"pair", "2"}, {"encoding", "none"}}, "one_layer_logits_differ"), 1e-3);
    const Result other = test::run(order_experiment, {"-p", "dog bites man", "-p", "man likes dog"});
    EXPECT_GT(cell(test::table(other, "rows"), {{"encoding", "none"}}, "rows_differ"), 1e-3); // other words
    EXPECT_THROW(test::run(order_experiment, {"-p", "alone"}), Error);
    EXPECT_THROW(test::run(order_experiment, {"-p", "a b", "-p", "b a", "-p", "c d"}), Error);
}

TEST(LabOrder, PalindromesAreComparedInAnotherOrder) {
    for (const char* sentence : {"dog bites dog", "dog dog bites"}) { // either reversal is the sentence itself
        const Result result = test::run(order_experiment, {"-p", sentence});
        EXPECT_TRUE(result.tables[0].title.ends_with("\"bites dog dog\"")) << result.tables[0].title;
    }
    const Result same = test::run(order_experiment, {"-p", "no no no"});
    EXPECT_EQ(cell(test::table(same, "rows"), {{"encoding", "rope"}}, "rows_differ"), 0);
}

const Result& swap_result() {
    static const Result once =
        test::run(swap_experiment, {"--model", "weights/rope.safetensors", "--model", "weights/none.safetensors",
                                    "--corpus", "weights/heldout.txt"});
    return once;
}

TEST(LabSwap, EveryPairRunsOrIsNamed) {
    const std::size_t pairs = test::table(swap_result(), "pairs").rows.size(),
                      refused = test::table(swap_result(), "refused").rows.size();
    EXPECT_EQ(pairs + refused, 2 * registered_encodings().size());
    bool learned = false;
    for (const auto& row : test::table(swap_result(), "refused").rows) {
        learned |= std::get<std::string>(row[1]) == "learned";
        EXPECT_TRUE(has(std::get<std::string>(row[2]), "encoding.")); // names the missing tensor
    }
    EXPECT_TRUE(learned);
}

TEST(LabSwap, NothingIsSwappedWithoutForce) {
    const std::string all = std::to_string(2 * (registered_encodings().size() - 1));
    EXPECT_TRUE(has(swap_result().found.back(), all + " of " + all));
}

TEST(LabSwapCorpus, AnEmptyOneIsAnErrorOfTheText) {
    const ordo::test::TempDir directory;
    ordo::test::put_file(directory / "empty.txt", "");
    const std::string empty = (directory / "empty.txt").string();
    EXPECT_TRUE(has(error_of([&] {
                        test::run(swap_experiment, {"--model", "weights/rope.safetensors", "--corpus", empty.c_str()});
                    }),
                    "empty.txt: expected"));
}

} // namespace
} // namespace ordo::lab
