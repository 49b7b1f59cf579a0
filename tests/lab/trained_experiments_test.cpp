// SPDX-License-Identifier: MIT
// Errors of `ordo lab word-order` and `ordo lab tasks`. Other tests in this folder check their computations part by
// part.
#include "tests/lab/has.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"

#include <fstream>

namespace {

using namespace ordo;
using namespace ordo::test;

TEST(LabTrainedExperiments, RefuseTasksThatThereAreNot) {
    expect_error(run_program({"lab", "tasks", "--tasks", "copy,sort"}), 2, "found 'sort'");
    expect_error(run_program({"lab", "tasks", "--tasks", ""}), 2, "option --tasks");
    expect_error(run_program({"lab", "tasks", "--encodings", "ropes"}), 2, "ropes");
}

// A prompt is skipped, with its pictures and sentences, if the text lacks its words. The other questions are still
// asked.
TEST(LabTrainedExperiments, SkipWhatACorpusHasNoWordsFor) {
    const TempDir dir;
    std::ofstream(dir.path() / "no-food.txt") << "the cat is good\n";
    const Outcome outcome = run_program({"lab", "word-order", "--seeds", "1", "--encodings", "none", "--format", "json",
                                         "--corpus", (dir.path() / "no-food.txt").string(), "-t", "1"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const char* phrase : {"The corpus lacks 'food', 'carbohydrates', 'are'", "Expectation 1 could not be tested",
                               "Expectation 4 held", "accuracy_1", "After \\\"good is\\\""})
        EXPECT_TRUE(has(outcome.out, phrase));
    for (const char* phrase : {"After \\\"food is\\\"", "nan", "(chance ", "models is -"})
        EXPECT_FALSE(has(outcome.out, phrase));
}

TEST(LabTrainedExperiments, RefuseCorporaThatTheyCannotRead) {
    const TempDir dir;
    std::ofstream(dir.path() / "empty.txt") << "\n";
    expect_error(run_program({"lab", "word-order", "--corpus", (dir.path() / "empty.txt").string()}), 4,
                 "empty.txt: expected 1 to");
    expect_error(run_program({"lab", "word-order", "--corpus", (dir.path() / "none.txt").string()}), 5, "none.txt");
}

// A corpus in which neither "food is" nor "good is" begins a sentence, and food follows "carbohydrates are".
TEST(LabTrainedExperiments, SayWhatACorpusDoesNotLetThemAsk) {
    const TempDir dir;
    std::ofstream(dir.path() / "own.txt") << "the food is good\ncarbohydrates are food\n";
    const Outcome outcome = run_program({"lab", "word-order", "--seeds", "1", "--encodings", "none", "--format", "json",
                                         "--corpus", (dir.path() / "own.txt").string(), "-t", "1"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const char* phrase : {"Expectation 1 could not be tested", "Expectation 2 could not be tested",
                               "Expectation 3 could not be tested", "Expectation 5 could not be tested",
                               "the corpus known by heart has -,", "which begins no sentence of the corpus"})
        EXPECT_TRUE(has(outcome.out, phrase));
    for (const char* phrase : {"nan", "inf to", "1 seeds", "second `none`", "the corpus goes on with another word"})
        EXPECT_FALSE(has(outcome.out, phrase));
}

} // namespace
