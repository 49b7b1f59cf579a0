// SPDX-License-Identifier: MIT
#include "encoding/base/registry.h"
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"

#include <fstream>

namespace ordo::lab {

extern const Experiment swap_experiment;

namespace {

using test::cell;

class LabSwap : public testing::Test {
protected:
    static void SetUpTestSuite() {
        result = std::make_unique<Result>(
            test::run(swap_experiment, {"--model", "weights/rope.safetensors", "--model", "weights/none.safetensors",
                                        "--corpus", "weights/heldout.txt"}));
    }
    static void TearDownTestSuite() { result.reset(); }
    static inline std::unique_ptr<Result> result;
};

TEST_F(LabSwap, EveryPairRunsOrIsNamed) {
    const std::size_t pairs = test::table(*result, "pairs").rows.size(),
                      refused = test::table(*result, "refused").rows.size();
    EXPECT_EQ(pairs + refused, 2 * registered_encodings().size());
    bool learned = false;
    for (const auto& row : test::table(*result, "refused").rows) {
        learned |= std::get<std::string>(row[1]) == "learned";
        EXPECT_NE(std::get<std::string>(row[2]).find("encoding."), std::string::npos); // names the missing tensor
    }
    EXPECT_TRUE(learned);
}

TEST_F(LabSwap, TheOwnEncodingCostsNothingMoreAndAnotherDoes) {
    const tools::Figures& table = test::table(*result, "pairs");
    EXPECT_EQ(cell(table, {{"trained_with", "rope"}, {"run_with", "rope"}}, "nll_over_own"), 0);
    EXPECT_GT(cell(table, {{"trained_with", "rope"}, {"run_with", "none"}}, "nll_over_own"), 0.5);
    EXPECT_GT(cell(table, {{"trained_with", "none"}, {"run_with", "rope"}}, "nll_over_own"), 0.1);
}

TEST_F(LabSwap, NothingIsSwappedWithoutForce) {
    const std::string all = std::to_string(2 * (registered_encodings().size() - 1));
    EXPECT_NE(result->found.back().find(all + " of " + all), std::string::npos) << result->found.back();
}

TEST(LabSwapCorpus, AnEmptyOneIsAnErrorOfTheText) {
    const ordo::test::TempDir directory;
    const std::string empty = (directory.path() / "empty.txt").string();
    std::ofstream(empty) << "";
    try {
        test::run(swap_experiment, {"--model", "weights/rope.safetensors", "--corpus", empty.c_str()});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
        EXPECT_NE(std::string(error.what()).find("empty.txt: expected"), std::string::npos) << error.what();
    }
}

} // namespace
} // namespace ordo::lab
