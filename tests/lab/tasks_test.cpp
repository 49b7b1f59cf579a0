// SPDX-License-Identifier: MIT
// Training that ends when a task is solved, the scores of an answer, and verdicts on made-up runs.
#include "tests/lab/lab_run.h"
#include "tests/temp_dir.h"
#include "tools/lab/study/answers.h"
#include "tools/lab/trained/task_runs.h"

namespace ordo::lab {
namespace {

// One token that another always follows. It takes some tens of steps to learn.
Recipe trivial(double solved) {
    Recipe r{.batch = 2, .length = 4, .steps = 400, .lr = 1e-2, .solved = solved, .decay = 30};
    r.trunk.vocab_size = 8;
    r.trunk.n_layers = 1;
    r.trunk.d_model = 16;
    r.trunk.n_heads = r.trunk.n_kv_heads = 2;
    r.trunk.d_head = 8;
    r.trunk.d_ff = 16;
    r.trunk.context = 4;
    r.draw = [](std::uint64_t, int, std::span<Token> tokens, std::span<Token> targets) {
        std::fill(tokens.begin(), tokens.end(), 3);
        std::fill(targets.begin(), targets.end(), 5);
    };
    return r;
}

int steps_until(double solved) {
    int steps = 0;
    Meter meter(1, "", [](const std::string&) {});
    small_model(trivial(solved), "none", 1, meter, &steps);
    return steps;
}

TEST(LabTasks, TrainingEndsSoonAfterTheTaskIsSolved) {
    const int early = steps_until(0.5), later = steps_until(0.05);
    EXPECT_GT(early, 30); // the decay takes some steps, and so does the time before it
    EXPECT_LT(early, later);
    EXPECT_LT(later, 400);
    EXPECT_EQ(steps_until(1e-30), 400);
    EXPECT_EQ(steps_until(0), 400);
}

// Answers are asked with the segments of the example: of two parts that disagree, a model that knows the segments
// answers from the part that is asked. Without them, one half is the best.
TEST(LabSegments, AreNeededAndEnough) {
    Meter meter(1, "", [](const std::string&) {});
    const Task& task = segment_task();
    Recipe recipe = recipe_of(task);
    recipe.steps = 120, recipe.batch = 32;
    const TaskScore with = score(small_model(recipe, "segment", 1, meter), task, 1, 100, 1),
                    without = score(small_model(recipe, "none", 1, meter), task, 1, 100, 1);
    EXPECT_GT(with.right_share(), 0.9);
    EXPECT_LT(without.right_share(), 0.65); // one half, and 3 standard errors of 0.05
}

// Computed token by token by a separate session.
TEST(LabTasks, ScoreCountsSymbolsAndEndsApart) {
    const Task& task = find_task("parity");
    Recipe recipe = recipe_of(task);
    recipe.steps = 60; // so that there are right answers, wrong ones and ends
    recipe.solved = 0;
    recipe.positions = task.tokens(13);
    Meter meter(1, "", [](const std::string&) {});
    const int length = 13, samples = 5;
    const Model model = small_model(recipe, "rope", 1, meter);
    const TaskScore found = score(model, task, length, samples, 9);
    TaskScore expected;
    for (int i = 0; i < samples; ++i) {
        const Example example =
            task.make(9, (std::uint64_t{1} << 40) + (std::uint64_t{13} << 20) + unsigned(i), length);
        Session session(model, {.capacity = task.tokens(length), .chunk = 1, .first_position = 0});
        bool all = true;
        for (std::size_t j = 0; j + 1 < example.tokens.size(); ++j) {
            const auto logits = session.feed(std::span(example.tokens).subspan(j, 1));
            if (!example.scored[j + 1]) continue;
            const auto answer = std::max_element(logits.begin(), logits.end()) - logits.begin();
            all = all && answer == example.tokens[j + 1];
            if (j + 2 == example.tokens.size()) continue; // the end
            ++expected.asked;
            expected.right += answer == example.tokens[j + 1];
            expected.ended += answer == 2; // "."
        }
        ++expected.examples;
        expected.exact += all;
    }
    EXPECT_EQ(expected.asked, samples * length);
    EXPECT_EQ(found.examples, expected.examples);
    EXPECT_EQ(found.exact, expected.exact);
    EXPECT_EQ(found.asked, expected.asked);
    EXPECT_EQ(found.right, expected.right);
    EXPECT_EQ(found.ended, expected.ended);
    EXPECT_GT(expected.right, 0);
    EXPECT_LT(expected.right, expected.asked);
}

// A run that solved its task, with `right` of 100 symbols right at twice the length.
TaskRun run_of(int right, bool solved = true, int far_exact = 0) {
    TaskRun run;
    run.steps = 1000;
    run.scores = {{.examples = 50, .exact = solved ? 50 : 0, .asked = 100, .right = 100},
                  {.examples = 50, .exact = far_exact, .asked = 100, .right = right}};
    return run;
}

// Also abacus, which says nothing of the place in a text.
TEST(LabTasks, RunTheEncodingThatIsPredictedToWin) {
    int predicted = 0;
    for (const Task& task : tasks()) {
        if (task.winner.empty()) continue;
        ++predicted;
        const std::string name(task.name), winner(task.winner);
        const TaskPlan plan = plan_of_tasks({.arguments = test::arguments_of({"tasks", "--tasks", name.c_str()})});
        EXPECT_TRUE(std::ranges::find(plan.encodings, winner) != plan.encodings.end()) << name;
    }
    EXPECT_EQ(predicted, 5);
}

class LabTaskVerdicts : public testing::Test {
protected:
    TaskPlan plan{{&find_task("copy")}, {"none", "alibi"}, {1, 2}, 3, 50};
    std::string outcome(std::size_t expectation, const TaskRuns& none, const TaskRuns& alibi) const {
        return outcomes_of(plan, {{none, alibi}}).at(expectation);
    }
};

TEST_F(LabTaskVerdicts, OfTheOrderAreThoseOfTheIntervalOverSeeds) {
    const TaskRuns good{run_of(60), run_of(62), run_of(58)}, bad{run_of(30), run_of(31), run_of(29)};
    EXPECT_EQ(outcome(0, good, bad), "Expectation 1 held.");
    // The differences are 0.3, 0.31 and 0.29: 4.3027 * 0.01 / sqrt(3).
    EXPECT_EQ(outcome(0, bad, good), "Expectation 1 was missed (copy: `none` over alibi -0.300 +- 0.025).");
    EXPECT_EQ(outcome(0, {run_of(60), run_of(20), run_of(40)}, {run_of(30), run_of(31), run_of(29)}),
              "Expectation 1 is undecided (copy: `none` over alibi 0.100 +- 0.51).");
}

// The two tasks differ by 0.3 and 0.1 in every seed but one, where they differ by 0.3 and 0.16. The means are 0.2, 0.2
// and 0.23.
TEST_F(LabTaskVerdicts, OfTheOrderOverTasksAreOfMeans) {
    plan.tasks.push_back(&find_task("reverse"));
    const TaskRuns high{run_of(60), run_of(60), run_of(60)}, low{run_of(30), run_of(30), run_of(30)},
        near{run_of(50), run_of(50), run_of(44)};
    EXPECT_EQ(outcomes_of(plan, {{high, low}, {high, near}}).at(4),
              "The published order, mean share of correct symbols beyond the trained length: `none` over alibi 0.210 "
              "+- 0.043, tasks: 2, held.");
    const TaskRuns partly{run_of(50), run_of(50), run_of(44, false)};
    EXPECT_TRUE(has(outcomes_of(plan, {{low, high}, {high, partly}}).at(4), "-0.300 +- 0, tasks: 1, missed"));
}

// Over all seeds, solved or not: the leads are 0.3, 0.31 and 0.29, and 0, 0.27 and -0.3.
TEST_F(LabTaskVerdicts, OfAPredictedWinnerAreAgainstEachOtherEncoding) {
    const TaskRuns low{run_of(30, false), run_of(31), run_of(29)}, high{run_of(60), run_of(62), run_of(58)},
        other{run_of(60), run_of(35), run_of(88)};
    EXPECT_EQ(outcome(3, low, high), "Expectation 4 could not be tested: no task of these ran.");
    plan = {{&find_task("indirect")}, {"none", "pope", "rope"}, {1, 2}, 3, 50};
    EXPECT_EQ(outcomes_of(plan, {{low, high, other}}).at(3),
              "Expectation 4 is undecided: it held in 1 of 2; undecided for indirect: pope over rope -0.010 +- 0.71.");
}

// Only the two seeds in which both solved the task count. The third would have reversed the verdict.
TEST_F(LabTaskVerdicts, AreOfSeedsThatSolvedTheTask) {
    const TaskRuns good{run_of(60), run_of(60), run_of(0, false)}, bad{run_of(30), run_of(31), run_of(99)};
    EXPECT_EQ(outcome(0, good, bad), "Expectation 1 held.");
    const TaskRuns once{run_of(60), run_of(0, false), run_of(0, false)};
    EXPECT_EQ(outcome(0, once, bad), "Expectation 1 is undecided (copy: `none` over alibi 0.300).");
    const TaskRuns never{run_of(0, false), run_of(0, false), run_of(0, false)};
    EXPECT_EQ(outcome(0, never, bad),
              "Expectation 1 could not be tested: no two models that it compares solved a task.");
    EXPECT_EQ(solvers_of(plan, 0, {good, never}), "copy, seeds of 3 that solved it in at most " +
                                                      std::to_string(find_task("copy").steps) +
                                                      " steps: `none` 2 (1000 steps), alibi 0 (1000 steps).");
}

TEST(LabAnswers, SentencesHaveTheirFiguresAndSkipWhatIsNotMeasured) {
    EXPECT_EQ(told("{} of {} {}", 1, 2.5, "x {}"), "1 of 2.5 x {}");
    const Names names{"none", "rope", "learned"};
    const Vector values{0.5, 0.123, std::nan("")};
    const auto at = [&](std::size_t i) { return values[i]; };
    EXPECT_EQ(ends_of(names, at), "0.12 (rope) to 0.50 (`none`)");
    EXPECT_EQ(ends_of({"rope"}, at), "0.50 (rope)");
    EXPECT_EQ(ends_of({}, at), "-");
    const Curves curves = curves_of(
        names, {7},
        [&](std::size_t i, std::size_t) {
            return Share{values[i], {}};
        },
        "");
    EXPECT_EQ(curves.series.at(1).x, Vector{7});
    EXPECT_TRUE(curves.series.at(1).low.empty()); // one seed has no interval
    EXPECT_TRUE(curves.series.at(2).y.empty());
}

TEST(LabJudgement, ExtremesHaveAsManyDigitsAsTellThemApart) {
    const auto curve = [](const char* label, double last) {
        return Series{.label = label, .x = {0, 1}, .y = {9, last}};
    };
    EXPECT_EQ(extremes_of({.series = {curve("a", 0.51), curve("b", 0.27)}}),
              "from 0.27 (b) to 0.51 (a), without an interval");
    EXPECT_EQ(extremes_of({.series = {curve("a", 0.5146), curve("b", 0.5109)}}),
              "from 0.511 (b) to 0.515 (a), without an interval");
    const auto between = [&](const char* name, double least, double y, double most) {
        Series one = curve(name, y);
        one.low.assign(one.y.size(), least);
        one.high.assign(one.y.size(), most);
        return one;
    };
    EXPECT_EQ(extremes_of({.series = {between("a", 0.4, 0.5, 0.6), between("b", 0.1, 0.2, 0.3)}}),
              "from 0.2 (b) to 0.5 (a)");
    EXPECT_EQ(extremes_of({.series = {between("a", 0.25, 0.5, 0.6), between("b", 0.1, 0.2, 0.4)}}),
              "from 0.2 (b) to 0.5 (a), which is undecided");
    EXPECT_EQ(extremes_of({.series = {curve("a", 0.5)}}), "0.5 (a)");
}

// Wilson's interval of 0 of 150 is below one half, and that of 150 of 150 above it. Those of 30, 25 and 20 of 50
// contain one half.
TEST_F(LabTaskVerdicts, OfFarLengthsAreThoseOfShares) {
    const TaskRuns none{run_of(9), run_of(9), run_of(9)},
        all{run_of(9, true, 50), run_of(9, true, 50), run_of(9, true, 50)},
        half{run_of(9, true, 30), run_of(9, true, 25), run_of(9, true, 20)};
    EXPECT_EQ(outcome(1, none, half),
              "Expectation 2 is undecided: it held in 1 of 2; undecided for copy at 2: alibi 0.50.");
    EXPECT_EQ(outcome(1, none, all), "Expectation 2 was missed: it held in 1 of 2; missed by copy at 2: alibi 1.00.");
}

TEST_F(LabTaskVerdicts, PicturesSayWhatIsLeftAtTheGreatestLength) {
    const TaskRuns good{run_of(60), run_of(62), run_of(58)}, bad{run_of(30), run_of(31), run_of(29)};
    EXPECT_EQ(result_of_tasks(plan, {{good, bad}}).pictures.at(0).title,
              "copy, trained on up to 10 letters: correct symbols at the greatest length from 0.3 (alibi) to 0.6 "
              "(none); seeds: 3");
}

// The files of jobs that each ran one encoding and one seed.
class LabTaskFiles : public testing::Test {
protected:
    static TaskRun of_seed(std::uint64_t seed, int right) {
        TaskRun run = run_of(right);
        run.seed = seed;
        return run;
    }
    // Writes runs of copy, the same number for each encoding.
    void put(const std::string& folder, const std::vector<std::string>& encodings,
             const std::vector<TaskRuns>& runs) const {
        const TaskPlan plan{{&find_task("copy")}, encodings, {1, 2}, static_cast<int>(runs[0].size()), 50};
        put_text(folder, tools::render(runs_of_tasks(plan, {runs}).figures, tools::Format::csv));
    }
    void put_text(const std::string& folder, const std::string& text) const {
        std::filesystem::create_directories(dir.path() / folder);
        ordo::test::put_file(dir.path() / folder / task_runs_file, text);
    }
    std::string refusal() const {
        return error_of([&] { gather_tasks(task_run_files(dir.path())); });
    }
    ordo::test::TempDir dir;
};

TEST_F(LabTaskFiles, OfSeveralJobsAreTheRunsOfOne) {
    const std::string rotary = "rope:theta=10000,width=4"; // with a comma in a field
    const std::vector<TaskRuns> rope{{of_seed(7, 30), of_seed(8, 31)}}, none{{of_seed(7, 60), of_seed(8, 61)}};
    put("a", {rotary}, {{rope[0][0]}});
    put("b", {rotary}, {{rope[0][1]}});
    put("c", {"none"}, none);
    const GatheredTasks all = gather_tasks(task_run_files(dir.path()));
    EXPECT_EQ(all.plan.encodings, (std::vector<std::string>{"none", rotary}));
    EXPECT_EQ(all.plan.times, (std::vector<double>{1, 2}));
    EXPECT_EQ(all.plan.samples, 50);
    EXPECT_EQ(all.left_out, "");
    const TaskPlan whole{{&find_task("copy")}, {"none", rotary}, {1, 2}, 2, 50};
    EXPECT_EQ(tools::render(runs_of_tasks(all.plan, all.runs).figures, tools::Format::csv),
              tools::render(runs_of_tasks(whole, {{none[0], rope[0]}}).figures, tools::Format::csv));
}

TEST_F(LabTaskFiles, WhatNotAllHaveIsLeftOutByName) {
    put("a", {"alibi"}, {{of_seed(1, 30)}});
    put("b", {"none"}, {{of_seed(1, 60), of_seed(2, 61)}});
    const GatheredTasks all = gather_tasks(task_run_files(dir.path()));
    EXPECT_EQ(all.plan.seeds, 1);
    EXPECT_EQ(all.left_out, "seed 2");
    put("a", {"alibi"}, {{of_seed(3, 30)}});
    EXPECT_TRUE(has(refusal(), "expected a seed that all encodings have"));
}

TEST_F(LabTaskFiles, AreRefusedByLine) {
    put("a", {"none"}, {{of_seed(1, 30)}});
    put("b", {"none"}, {{of_seed(1, 30)}}); // an exact repeat
    EXPECT_EQ(refusal(), "");
    put("b", {"none"}, {{of_seed(1, 31)}});
    EXPECT_TRUE(has(refusal(), "tasks-runs.csv: line 3: expected one result of copy, none, seed 1"));
    const std::string header = "task,encoding,seed,steps,times,length,examples,exact,asked,right,ended\n";
    const auto refused = [&](const std::string& rows, const std::string& phrase) {
        put_text("b", header + rows);
        EXPECT_TRUE(has(refusal(), "tasks-runs.csv: " + phrase));
    };
    refused("copy,none,2,10,1,10,50,50,500,500,x\n", "line 2: expected a number, found 'x'");
    refused("copy,none,2,10,1.5,15,50,50,500,500,0\n", "line 2: expected each run at the same lengths");
    refused(",,0,0,1,10,64,64,640,640,0\n", "line 2: expected some of copy, reverse"); // without task and encoding
    refused("copied,none,2,10,1,10,50,50,500,500,0\n", "line 2: expected some of copy, reverse");
    refused("copy,none,2,10,1,10,50,51,500,500,0\n", "line 2: expected from 0 to 50 exact answers");
    refused("copy,none,2,10,1,10,50,-1,500,500,0\n", "line 2: expected from 0 to 50 exact answers");
    for (const char* counts : {"-1,0", "0,-1", "400,101", "2147483647,2147483647"})
        refused("copy,none,2,10,1,10,50,50,500," + std::string(counts) + "\n",
                "line 2: expected symbols that are right or ended to be no more than the 500 asked");
    refused("copy,none,2,10,1,10,50,50,500,500,0\ncopy,none,2,11,2,20,50,50,500,500,0\n",
            "line 3: expected 10 steps as at the run's first length, found 11");
    refused("copy,none,2,10,1,10,60,50,500,500,0\ncopy,none,2,10,2,20,60,50,500,500,0\n",
            "line 3: expected each run to be asked 50 examples");
    refused("copy,none,1,999,1,10,50,50,100,100,0\ncopy,none,1,999,2,20,50,0,100,30,0\n", // 1000 steps
            "line 3: expected one result of copy, none, seed 1");
    put_text("a", header + "copy,none,2,10,2,20,50,50,500,500,0\n"); // even one file begins with the trained length
    EXPECT_TRUE(has(refusal(), "a/tasks-runs.csv: line 2: expected each run at the same lengths, from the trained"));
    put_text("b", "task,encoding\n");
    put("a", {"none"}, {{of_seed(1, 30)}});
    EXPECT_TRUE(has(refusal(), "expected a column seed"));
}

// A folder of such files together with one of weights.
TEST_F(LabTaskFiles, StandBesideWeights) {
    put("tasks", {"none", "alibi"}, {{of_seed(1, 60)}, {of_seed(1, 30)}});
    std::filesystem::create_directories(dir / "weights");
    std::filesystem::copy_file("weights/none.safetensors", dir / "weights" / "none.safetensors");
    ordo::test::put_file(dir / "text.txt", "The old dog ran home.");
    const std::string weights = (dir / "weights").string(), runs = (dir / "tasks").string(),
                      corpus = (dir / "text.txt").string();
    const Result result =
        test::run("compare", {"--model", weights.c_str(), "--model", runs.c_str(), "--corpus", corpus.c_str()});
    EXPECT_EQ(test::table(result, "loss").rows.size(), 1u);
    EXPECT_EQ(std::count(result.found.begin(), result.found.end(),
                         "Tasks, from 1 file: 1 seed of each of 2 encodings on 1 task."),
              1);
    const auto extrapolate = [&] { test::run("extrapolate", {"--model", runs.c_str(), "--corpus", corpus.c_str()}); };
    EXPECT_TRUE(has(error_of(extrapolate), "expected weights")); // runs do not replace the shipped weights
}

TEST(LabTaskShares, AreEmptyWhereThereAreNoPositions) {
    TaskRun run = run_of(50);
    run.scores[1] = {};
    EXPECT_TRUE(std::isnan(run.beyond()));
    EXPECT_TRUE(std::isnan(share_at({run, run}, 1, &TaskScore::right_share).mean));
    EXPECT_TRUE(std::isnan(beyond_of({run, run}).mean));
}

} // namespace
} // namespace ordo::lab
