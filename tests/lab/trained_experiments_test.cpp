// SPDX-License-Identifier: MIT
// What `ordo lab word-order` refuses; what it computes is tested part by part beside this.
#include "tests/temp_dir.h"
#include "tests/tools/program.h"

#include <fstream>
#include <gtest/gtest.h>

namespace {

using namespace ordo::test;

TEST(LabTrainedExperiments, RefuseCorporaWithoutTheQuestions) {
    const TempDir dir;
    std::ofstream(dir.path() / "no-food.txt") << "the cat is good\n";
    expect_error(run_program({"lab", "word-order", "--corpus", (dir.path() / "no-food.txt").string()}), 1, "'food'");
    std::ofstream(dir.path() / "empty.txt") << "\n";
    expect_error(run_program({"lab", "word-order", "--corpus", (dir.path() / "empty.txt").string()}), 4,
                 "empty.txt: expected 1 to");
    expect_error(run_program({"lab", "word-order", "--corpus", (dir.path() / "none.txt").string()}), 5, "none.txt");
}

} // namespace
