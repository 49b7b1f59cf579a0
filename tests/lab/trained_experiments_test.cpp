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

TEST(LabTrainedExperiments, RefuseCorporaThatTheyCannotRead) {
    const TempDir dir;
    std::ofstream(dir.path() / "empty.txt") << "\n";
    expect_error(run_program({"lab", "word-order", "--corpus", (dir.path() / "empty.txt").string()}), 4,
                 "empty.txt: expected 1 to");
    expect_error(run_program({"lab", "word-order", "--corpus", (dir.path() / "none.txt").string()}), 5, "none.txt");
}

// A corpus without most words of the questions, and in which food follows "carbohydrates are".
TEST(LabTrainedExperiments, SkipWhatACorpusDoesNotLetThemAsk) {
    const TempDir dir;
    for (const char* text : {"the cat is good\n", "the food is good\ncarbohydrates are food\n"}) {
        put_file(dir / "own.txt", text);
        const Outcome outcome = run_program({"lab", "word-order", "--seeds", "1", "--encodings", "none", "--format",
                                             "json", "--corpus", (dir / "own.txt").string(), "-t", "1"});
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        for (const char* phrase : {"Expectation 1 could not be tested", "Expectation 2 could not be tested",
                                   "Expectation 3 could not be tested", "Expectation 4 held", "accuracy_1"})
            EXPECT_TRUE(has(outcome.out, phrase));
        for (const char* phrase : {"nan", "inf to"}) EXPECT_FALSE(has(outcome.out, phrase));
    }
}

} // namespace
