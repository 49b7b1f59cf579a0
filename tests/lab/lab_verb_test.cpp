// SPDX-License-Identifier: MIT
// ordo lab as a user meets it: the list, what is refused, files, formats.
#include "tests/tools/program.h"
#include "tools/lab/lab.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

namespace {

using namespace ordo;
using namespace ordo::test;

TEST(LabVerb, ListsEveryExperimentWithWhatItAnswers) {
    const Json list = json_of({"lab", "--format", "json"});
    ASSERT_EQ(list.size(), lab::experiments().size() + 1); // and report
    for (const lab::Experiment* experiment : lab::experiments()) {
        const auto named = [&](const Json& row) { return row["experiment"] == std::string(experiment->name); };
        const auto row = std::find_if(list.begin(), list.end(), named);
        ASSERT_NE(row, list.end());
        EXPECT_EQ((*row)["what it answers"], std::string(experiment->summary));
        for (const std::string_view option : experiment->options)
            EXPECT_NE((*row)["options"].get<std::string>().find("--" + std::string(option)), std::string::npos);
    }
}

TEST(LabVerb, ExperimentsAreDescribedOnceAndWell) {
    std::set<std::string_view> names{"report"};
    for (const lab::Experiment* experiment : lab::experiments()) {
        SCOPED_TRACE(experiment->name);
        EXPECT_TRUE(names.insert(experiment->name).second);
        EXPECT_EQ(experiment->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos);
        EXPECT_EQ(experiment->summary.find('\n'), std::string_view::npos);
        EXPECT_FALSE(experiment->summary.empty());
        EXPECT_FALSE(experiment->details.empty());
        EXPECT_GT(experiment->quick_seconds, 0);
        EXPECT_LE(experiment->quick_seconds, experiment->seconds);
    }
}

TEST(LabVerb, RefusesWhatAnExperimentDoesNotHeed) {
    expect_error(run_program({"lab", "heat-maps"}), 2, "unknown experiment 'heat-maps'; did you mean heat-map?");
    expect_error(run_program({"lab", "heat-map", "there"}), 2, "unexpected argument 'there'");
    expect_error(run_program({"lab", "heat-map", "--corpus", "x"}), 2, "heat-map does not heed --corpus");
    expect_error(run_program({"lab", "heat-map", "-p", "x"}), 2, "heat-map does not heed --prompt");
    expect_error(run_program({"lab", "--dim", "8"}), 2, "--dim: expected an experiment");
    expect_error(run_program({"lab", "heat-map", "--seed", "x"}), 2, "--seed");
}

} // namespace
