// SPDX-License-Identifier: MIT
// Every verb that takes a model takes any: Ordo's own files, directories and GGUF.
#include "tests/tools/models.h"
#include "tests/tools/program.h"

#include <gtest/gtest.h>

namespace {

using namespace ordo::test;

class OneDoor : public testing::Test {
protected:
    OneDoor() { expect_success(run_program({"convert", own_, gguf_, "-q"})); }

    const TempDir dir_;
    const std::string own_ = model_file("rope"), gguf_ = (dir_ / "rope.gguf").string();
};

TEST_F(OneDoor, TablesTakeWidthAndWeightsFromAnyFormat) {
    EXPECT_EQ(out_of({"table", "rope", "-m", gguf_, "--len", "3"}),
              out_of({"table", "rope", "-m", own_, "--len", "3"}));
    const std::string directory = "tests/families/gpt2";
    const std::string table = out_of({"table", "learned", "-m", directory, "--len", "2"});
    EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3) << table;
    expect_success(run_program({"encodings", "learned", "-m", directory, "--format", "json"}));
}

TEST_F(OneDoor, ExperimentsTakeAnyFormat) {
    const auto found = [](const std::string& model) {
        const std::string all = out_of({"lab", "compare", "-q", "--model", model, "--format", "json"});
        return Json::parse(all)["tables"][0]["rows"][0]["nll"].get<double>();
    };
    EXPECT_NEAR(found(gguf_), found(own_), 1e-6);
    // A directory is one model, if its config.json is there.
    const Outcome bare = run_program({"lab", "compare", "-q", "--model", "tests/families/llama"});
    EXPECT_EQ(bare.code, 3) << bare.err;
    EXPECT_NE(bare.err.find("tests/families/llama"), std::string::npos) << bare.err;
    EXPECT_NE(bare.err.find("tokenizer"), std::string::npos) << bare.err;
}

} // namespace
