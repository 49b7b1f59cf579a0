// SPDX-License-Identifier: MIT
#include "encoding/base/registry.h"
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"

#include <fstream>

namespace ordo::lab {
namespace {

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
    const std::string empty = (directory.path() / "empty.txt").string();
    std::ofstream(empty) << "";
    try {
        test::run(swap_experiment, {"--model", "weights/rope.safetensors", "--corpus", empty.c_str()});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage) << error.what();
        EXPECT_TRUE(has(error.what(), "empty.txt: expected")) << error.what();
    }
}

} // namespace
} // namespace ordo::lab
