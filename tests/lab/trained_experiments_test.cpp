// SPDX-License-Identifier: MIT
// What `ordo lab word-order` and `ordo lab tasks` refuse; what they compute is tested part by part beside this.
#include "tests/temp_dir.h"
#include "tests/tools/program.h"

#include <fstream>
#include <gtest/gtest.h>

namespace {

using namespace ordo::test;

TEST(LabTrainedExperiments, RefuseTasksThatThereAreNot) {
    expect_error(run_program({"lab", "tasks", "--tasks", "copy,sort"}), 2, "found 'sort'");
    expect_error(run_program({"lab", "tasks", "--tasks", ""}), 2, "option --tasks");
    expect_error(run_program({"lab", "tasks", "--encodings", "ropes"}), 2, "ropes");
}

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
