// SPDX-License-Identifier: MIT
// Every verb that takes a model takes every kind: Ordo's own files, directories, GGUF, and files of llama2.c.
#include "tests/formats/gguf_bytes.h"
#include "tests/tools/child.h"
#include "tests/tools/models.h"

#include <algorithm>
#include <cmath>
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
    // A directory is a model if it holds a config.json.
    const Outcome bare = run_program({"lab", "compare", "-q", "--model", "tests/families/llama"});
    EXPECT_EQ(bare.code, 3) << bare.err;
    EXPECT_NE(bare.err.find("tests/families/llama"), std::string::npos) << bare.err;
    EXPECT_NE(bare.err.find("tokenizer"), std::string::npos) << bare.err;
}

// A llama2.c file, laid out as its run.c reads it: dim 4, hidden 6, 1 layer, 2 heads, 1 key head, 64 positions. All
// weights are 0, so all tokens are equally likely.
TEST_F(OneDoor, TablesAndExperimentsTakeLlama2c) {
    const std::vector<std::string> pieces = {"<unk>", "\n<s>\n", "\n</s>\n", " ", "a", "b", "c", "d", "x", "y", "z"};
    const int vocab = static_cast<int>(pieces.size()), context = 64;
    const int floats = vocab * 4 + 4 + 4 * 4 + 2 * 2 * 4 + 4 * 4 + 4 + 3 * 6 * 4 + 4 + context * 2;
    std::string bytes, tokens = le(8);
    for (const int field : {4, 6, 1, 2, 1, vocab, context}) bytes += le(field);
    put_file(dir_ / "zeros.bin", bytes + std::string(4 * static_cast<std::size_t>(floats), '\0'));
    for (const std::string& piece : pieces) tokens += le_float(-1) + le(static_cast<int>(piece.size())) + piece;
    put_file(dir_ / "tokenizer.bin", tokens);
    const std::string model = (dir_ / "zeros.bin").string();

    // rope of width 2, theta 10000: the angle is the position.
    const Json table = json_of({"table", "rope", "-m", model, "--len", "3", "--format", "json"});
    ASSERT_EQ(table.size(), 3u) << table.dump();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(table[i]["cos"].get<double>(), std::cos(i), 1e-6) << table.dump();
    expect_success(run_program({"encodings", "-m", model}));
    const Json compared = json_of({"lab", "compare", "-q", "--model", model, "--format", "json"});
    const Json& row = compared["tables"][0]["rows"][0];
    EXPECT_NEAR(row["nll"].get<double>(), std::log(vocab), 1e-4) << row.dump();
}

// A directory has one name, however its path is spelled.
TEST_F(OneDoor, DirectoriesHaveANameWithATrailingSlashToo) {
    for (const std::string spelling :
         {"tests/families/gpt2/", "tests/families/gpt2/.", "tests/families/gpt2//", "tests/families/llama/../gpt2"}) {
        const Json logits = json_of({"logits", "-m", spelling, "--tokens", "1,2"});
        EXPECT_EQ(logits["model"], "gpt2") << spelling;
        EXPECT_EQ(json_of({"info", spelling, "--format", "json"})["file"], "gpt2") << spelling;
    }
    const std::string title = out_of({"bench", "-m", "tests/families/gpt2/", "-q", "-r", "1", "-p", "2", "-n", "1"});
    EXPECT_NE(title.find("gpt2"), std::string::npos) << title;
}

} // namespace
