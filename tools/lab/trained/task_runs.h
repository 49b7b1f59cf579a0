// SPDX-License-Identifier: MIT
// Models trained on a task until they solve it, and their answers at lengths not seen in training: as verdicts, tables,
// pictures and sentences, and as a file, from which runs of several machines are combined.
#pragma once

#include "tools/lab/study/grid.h"
#include "tools/lab/study/prelude.h"
#include "tools/lab/trained/synthetic.h"

namespace ordo::lab {

inline constexpr double solved_share = 0.9; // exact match at the trained length that counts as solving a task

struct TaskPlan {
    std::vector<const Task*> tasks;
    std::vector<std::string> encodings;
    std::vector<double> times; // in trained lengths; the first is 1
    int seeds, samples;        // seeds: models for each encoding and task; samples: examples at each length
};

// The score of one model at one length. Empty if its encoding lacks positions for the length.
struct TaskScore {
    int examples = 0, exact = 0; // exact: every token of the answer is correct, including its end
    int asked = 0, right = 0;    // symbols of answers, without their ends
    int ended = 0;               // symbols in place of which the model would have ended the answer

    bool operator==(const TaskScore&) const = default;
    double exact_share() const { return static_cast<double>(exact) / examples; }
    double right_share() const { return static_cast<double>(right) / asked; }
    double ended_share() const { return static_cast<double>(ended) / asked; }
};

// One model.
struct TaskRun {
    std::uint64_t seed = 0;
    int steps = 0;
    std::vector<TaskScore> scores; // by length

    bool solved() const { return scores[0].exact_share() >= solved_share; }
    // Fraction of correct symbols beyond the trained length, mean over the lengths; NaN if there are no positions
    // there.
    double beyond() const;
};

// What --tasks, --encodings and --seeds ask for.
TaskPlan plan_of_tasks(const Request& request);

// The models of one encoding on one task, by seed.
using TaskRuns = std::vector<TaskRun>;
int solved_of(const TaskRuns& runs);
long steps_of(const TaskRuns& runs); // mean, rounded
// The mean over the seeds at one length; NaN without scores.
Share share_at(const TaskRuns& runs, std::size_t length, double (TaskScore::*share)() const);
Share beyond_of(const TaskRuns& runs);

int length_of(const Task& task, double times);
Recipe recipe_of(const Task& task);
TaskScore score(const Model& model, const Task& task, int length, int samples, std::uint64_t seed);
using AllRuns = Grid<TaskRun>; // [task][encoding][seed]
AllRuns train_all(const TaskPlan& plan, std::uint64_t seed, const std::function<void(const std::string&)>& progress);

// ---- Expectations from before any training, and their verdicts --------------------------------

// A quarter of the head in recipe_of().
inline constexpr const char* quarter_rope = "rope:width=4";

std::vector<std::string> expected_of_tasks();
// A sentence for each expectation, and one for the published order over all tasks.
std::vector<std::string> outcomes_of(const TaskPlan& plan, const AllRuns& all);
// In how many seeds and steps each encoding solved a task.
std::string solvers_of(const TaskPlan& plan, std::size_t task, const std::vector<TaskRuns>& runs);

// ---- Tables, pictures and sentences -----------------------------------------------------------

inline constexpr const char* task_runs_file = "tasks-runs.csv"; // lab tasks --out writes runs_of_tasks() to it

// The share of correct symbols.
Share right_at(const TaskRuns& runs, std::size_t length);
NamedFigures table_of(const TaskPlan& plan, std::size_t task, const std::vector<TaskRuns>& runs);
Picture picture_of(const TaskPlan& plan, std::size_t task, const std::vector<TaskRuns>& runs);
Result result_of_tasks(const TaskPlan& plan, const AllRuns& all);
// A row for each run and length, with counts.
NamedFigures runs_of_tasks(const TaskPlan& plan, const AllRuns& all);

struct GatheredTasks {
    TaskPlan plan;
    AllRuns runs;
    std::string left_out; // seeds and encodings that were dropped because some tasks lack them; may be empty
};
// The files of this name in a folder and its subfolders.
std::vector<std::filesystem::path> task_run_files(const std::filesystem::path& folder);
// Keeps the seeds that all encodings have, and the encodings that all tasks have. Throws Error with file and line for
// unreadable input, other lengths than the first file's, or a contradiction of an earlier file.
GatheredTasks gather_tasks(const std::vector<std::filesystem::path>& files);

} // namespace ordo::lab
