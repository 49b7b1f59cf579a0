// SPDX-License-Identifier: MIT
// ordo lab from the user's side: the list, errors, files and formats.
#include "tests/lab/has.h"
#include "tests/temp_dir.h"
#include "tests/tools/child.h"
#include "tests/words.h"
#include "tools/lab/lab.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace {

using namespace ordo;
using namespace ordo::test;

TEST(LabVerb, ListsEveryExperimentWithWhatItAnswers) {
    const Json list = json_of({"lab", "--format", "json"});
    ASSERT_EQ(list.size(), lab::experiments().size() + 1); // and the report
    for (const lab::Experiment* experiment : lab::experiments()) {
        const auto named = [&](const Json& row) { return row["experiment"] == std::string(experiment->name); };
        const auto row = std::find_if(list.begin(), list.end(), named);
        ASSERT_NE(row, list.end());
        EXPECT_EQ((*row)["question"], std::string(experiment->summary));
        for (const std::string_view option : experiment->options)
            EXPECT_TRUE(has((*row)["options"].get<std::string>(), "--" + std::string(option)));
    }
}

TEST(LabVerb, TheListFitsATerminal) {
    const Outcome outcome = run_program({"lab"});
    EXPECT_EQ(outcome.code, 0);
    for (const char* said : {"ordo lab NAME", "--help", "two cores", "--quick"}) EXPECT_TRUE(has(outcome.out, said));
    std::istringstream lines(outcome.out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80u) << line;
    EXPECT_LE(count, 40);
    for (const lab::Lesson& lesson : lab::lessons())
        for (const lab::Experiment* experiment : lesson.experiments)
            EXPECT_TRUE(has(outcome.out, " " + std::string(experiment->name) + " ")) << experiment->name;
}

// The answer is at the top, and long tables need --all.
TEST(LabVerb, PrintsTheAnswerFirstAndInBrief) {
    const std::vector<std::string> words{"lab", "attention", "--quick", "-q", "-m", "weights/rope.safetensors"};
    const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
    const std::string brief = out_of(words);
    EXPECT_TRUE(brief.starts_with("attention: To which tokens does each head attend?\n\nIn ")) << brief;
    EXPECT_TRUE(has(brief, "--all adds ")) << brief;
    EXPECT_LE(lines(brief), 40) << brief;
    std::vector<std::string> more = words;
    more.push_back("--all");
    EXPECT_GT(lines(out_of(more)), 2 * lines(brief));
}

// Help shows the experiment's description and exactly its own options.
TEST(LabVerb, HelpIsOfTheExperimentThatIsNamed) {
    for (const lab::Experiment* experiment : lab::experiments()) {
        SCOPED_TRACE(experiment->name);
        const Outcome outcome = run_program({"lab", std::string(experiment->name), "--help"});
        EXPECT_EQ(run_program({"--help", "lab", std::string(experiment->name)}).out, outcome.out);
        EXPECT_EQ(outcome.code, 0);
        std::string words; // the text with its lines joined
        for (const char c : outcome.out) words += c == '\n' ? ' ' : c;
        for (const std::string_view said : {experiment->summary, experiment->details}) EXPECT_TRUE(has(words, said));
        EXPECT_TRUE(has(words, "on two cores"));
        EXPECT_TRUE(has(words, "--seed "));
        for (const char* option : {"seeds", "corpus", "model", "encodings", "length", "tasks", "dim", "heads"}) {
            const bool taken =
                std::find(experiment->options.begin(), experiment->options.end(), option) != experiment->options.end();
            EXPECT_EQ(outcome.out.find("    --" + std::string(option) + " ") != std::string::npos ||
                          outcome.out.find(", --" + std::string(option) + " ") != std::string::npos ||
                          outcome.out.find("    --" + std::string(option) + ", ") != std::string::npos,
                      taken)
                << option;
        }
    }
    EXPECT_TRUE(has(run_program({"lab", "report", "--help"}).out, "report DIR"));
    expect_error(run_program({"lab", "heat-maps", "--help"}), 2, "did you mean heat-map?");
}

TEST(LabVerb, ExperimentsAreDescribedOnceAndWell) {
    std::set<std::string_view> names{"report"};
    for (const lab::Experiment* experiment : lab::experiments()) {
        SCOPED_TRACE(experiment->name);
        EXPECT_TRUE(names.insert(experiment->name).second);
        EXPECT_EQ(experiment->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos);
        EXPECT_FALSE(has(experiment->summary, "\n"));
        EXPECT_TRUE(experiment->summary.ends_with('?')); // each summary is a question
        EXPECT_TRUE(std::isupper(static_cast<unsigned char>(experiment->summary[0])));
        EXPECT_FALSE(experiment->details.empty());
        EXPECT_GT(experiment->seconds.quick, 0);
        EXPECT_LE(experiment->seconds.quick, experiment->seconds.full);
    }
}

Outcome run_lab(const std::string& line) {
    return run_program(words_in("lab " + line));
}

// Options that an experiment does not take, and sizes that are too large for a table or picture, or invalid.
TEST(LabVerb, RefusesWhatAnExperimentDoesNotTake) {
    for (const auto& [line, phrase] : {std::pair{"heat-maps", "unknown experiment 'heat-maps'; did you mean heat-map?"},
                                       {"heat-map there", "unexpected argument 'there'"},
                                       {"heat-map --corpus x", "heat-map does not take --corpus"},
                                       {"heat-map -p x", "heat-map does not take --prompt"},
                                       {"--dim 8", "--dim: expected an experiment"},
                                       {"heat-map --seed x", "--seed"},
                                       {"report x --all", "report does not take --all"},
                                       {"report", "expected a directory"},
                                       {"report x --format csv", "report does not take --format"},
                                       {"report x --dim 8", "report does not take --dim"},
                                       {"slopes --length 4194304", "--length: expected at most 2048"},
                                       {"slopes --length 8,16", "--length: expected one value"},
                                       {"tables --length 2049", "--length: expected at most 2048"},
                                       {"tables --length 64 --dim 16385", "--dim: expected 2 to 16384"},
                                       {"tables --dim 1", "--dim: expected 2 to"},
                                       {"angles --dim 3", "--dim: expected an even width, found 3"},
                                       {"tasks --tasks copy,sort", "found 'sort'"},
                                       {"tasks --encodings ropes", "ropes"},
                                       {"jobs", "jobs: expected a directory"},
                                       {"jobs out", "expected --corpus FILE to train on, --tasks NAME,..., or both"},
                                       {"jobs out --tasks copy --dim 8", "jobs does not take --dim"},
                                       {"jobs out --tasks copy --train x", "--corpus FILE beside it"}})
        expect_error(run_lab(line), 2, phrase);
    expect_error(run_program({"lab", "tasks", "--tasks", ""}), 2, "option --tasks");
}

TEST(LabVerb, TakesSizesAtTheirEnds) {
    for (const char* line :
         {"slopes --heads 1 --length 1", "slopes --heads 5 --length 2048", "angles --dim 2", "division-term --dim 1",
          "division-term --dim 3", "tables --length 1 --heads 5", "tables --encodings none"})
        expect_success(run_lab(line));
}

// Runs the lines as a scheduler would, and compares the folder of their results.
TEST(LabVerb, JobsAreCommandsThatTrainWhatIsCompared) {
    const TempDir dir;
    std::string text;
    for (int i = 0; i < 60; ++i) text += "The old dog ran home, " + std::to_string(i) + " times.\n<|endoftext|>\n";
    put_file(dir / "a text.txt", text);
    const std::string out = (dir / "runs").string();
    const Outcome list =
        run_program({"lab", "jobs", out, "--corpus", (dir / "a text.txt").string(), "--encodings",
                     "rotate-stretch:period=6", "--seeds", "2", "--seed", "5", "--train",
                     "--byte-tokenizer --layers 1 --dim 16 --heads 2 --ffn 16 --ctx 16 --tokens 512 --batch 4"});
    expect_success(list);
    EXPECT_TRUE(has(list.err, "4 commands"));
    EXPECT_TRUE(has(list.out, "--encoding rotate-stretch:period=6 --seed 6 "));
    put_file(dir / "jobs", list.out);
    const std::string folder = std::filesystem::path(program_path()).parent_path().string();
    ASSERT_EQ(std::system(("PATH='" + folder + "':\"$PATH\" sh '" + (dir / "jobs").string() + "' >/dev/null").c_str()),
              0);
    EXPECT_TRUE(std::filesystem::exists(dir / "runs/none-5.safetensors"));
    EXPECT_TRUE(std::filesystem::exists(dir / "runs/rotate-stretch-period-6-6.safetensors"));
    const Outcome compared =
        run_program({"lab", "compare", "-q", "--all", "--model", out, "--corpus", (dir / "a text.txt").string()});
    expect_success(compared);
    EXPECT_TRUE(has(compared.out, "Only the encoding and the seed differ between the 4 files"));
}

TEST(LabVerb, CompareGathersWhatJobsOfTasksHaveLeft) {
    const TempDir dir;
    const std::string head = "task,encoding,seed,steps,times,length,examples,exact,asked,right,ended\n";
    for (const auto& [encoding, right] : std::map<std::string, int>{{"alibi", 300}, {"none", 800}}) {
        std::string rows;
        for (const int seed : {1, 2, 3}) {
            const std::string run = "copy," + encoding + "," + std::to_string(seed);
            rows += run + ",900,1,10,64,64,640,640,0\n" + run + ",900,2,20,64,0,1280," + std::to_string(right + seed) +
                    ",0\n";
        }
        std::filesystem::create_directories(dir / encoding);
        put_file(dir / (encoding + "/tasks-runs.csv"), head + rows);
    }
    const Outcome all = run_program({"lab", "compare", "-q", "--all", "--model", dir.path().string()});
    expect_success(all);
    for (const char* expected :
         {"Tasks, from 2 files: 3 seeds of each of 2 encodings on 1 task.", "`none` 3 (900 steps)",
          "Expectation 1 held.", "copy, trained on up to 10 letters: correct symbols"})
        EXPECT_TRUE(has(all.out, expected));
    EXPECT_FALSE(has(all.out, "Held-out nats")); // no section on weights
}

// Names from a CSV file appear on a terminal.
TEST(LabVerb, CompareEscapesTheNamesOfACsvFile) {
    const TempDir dir;
    std::string rows = "task,encoding,seed,steps,times,length,examples,exact,asked,right,ended\n";
    for (const char* seed : {"1", "2", "3"})
        rows += std::string("reverse,\033]0;x\u202e,") + seed + ",100,1,5,100,50,300,300,0\n";
    std::filesystem::create_directories(dir / "a");
    put_file(dir / "a/tasks-runs.csv", rows);
    for (const char* format : {"text", "md", "csv", "json"}) {
        const std::string text =
            out_of({"lab", "compare", "-q", "--all", "--model", dir.path().string(), "--format", format});
        EXPECT_FALSE(has(text, "\033"));
        EXPECT_FALSE(has(text, "\u202e"));
        EXPECT_TRUE(has(text, "x1b]0;x"));
    }
}

// Each line is a shell command.
TEST(LabVerb, JobsRefuseControlsAndKeepNamesFromBeingOptions) {
    const TempDir dir;
    const Conditions here{.directory = dir.path().string()};
    const auto jobs = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"lab", "jobs"});
        return run_program(words, here);
    };
    expect_error(jobs({"out", "--corpus", "a\nrm -r b"}), 2, "option --corpus: expected no control characters");
    expect_error(jobs({"out", "--tasks", "copy\nid"}), 2, "option --tasks: expected no control characters");
    expect_error(jobs({"out", "--corpus", "a", "--train", "--lr 1\nid"}), 2, "option --train: expected no control");
    expect_error(jobs({"out\nid", "--corpus", "a"}), 2, "DIR: expected no control characters");
    const Outcome list = jobs({"--corpus=-c", "--encodings", "rope", "--seeds", "1", "-q", "--", "-d"});
    expect_success(list);
    EXPECT_TRUE(has(list.out, "ordo train ./-c "));
    EXPECT_TRUE(has(list.out, " --out ./-d/rope-1.safetensors"));
}

TEST(LabVerb, JobsOfTasksAreOneForEachEncodingTaskAndSeed) {
    const TempDir dir;
    const Outcome list = run_program(
        {"lab", "jobs", (dir / "out").string(), "--tasks", "copy,recall", "--encodings", "alibi", "--seeds", "1"});
    expect_success(list);
    EXPECT_TRUE(has(list.out, "ordo lab tasks --tasks recall --encodings alibi --alone --seed 1 --seeds 1 "));
    EXPECT_EQ(std::count(list.out.begin(), list.out.end(), '\n'), 4); // without the encoding none
    const TempDir empty;
    expect_error(run_program({"lab", "compare", "--model", empty.path().string()}), 5,
                 "expected weights, *.safetensors, found none");
}

TEST(LabTrainedExperiments, RefuseCorporaThatTheyCannotRead) {
    const TempDir dir;
    put_file(dir / "empty.txt", "\n");
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
