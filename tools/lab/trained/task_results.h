// SPDX-License-Identifier: MIT
// Runs on tasks as tables, pictures and sentences, and as a file from which runs of several machines are put together
// again.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/trained/task_verdicts.h"

#include <filesystem>

namespace ordo::lab {

inline constexpr const char* task_runs_file = "tasks-runs.csv"; // what lab tasks --out writes of runs_of_tasks()

Result result_of_tasks(const TaskPlan& plan, const AllRuns& all);
// A row for each run and length, with counts.
NamedFigures runs_of_tasks(const TaskPlan& plan, const AllRuns& all);

struct GatheredTasks {
    TaskPlan plan;
    AllRuns runs;
    std::string left_out; // what not every task or encoding has; empty: nothing
};
// The files of that name in a folder and in the folders in it.
std::vector<std::filesystem::path> task_run_files(const std::filesystem::path& folder);
// Of the seeds that all encodings have, and the encodings that all tasks have. Throws Error naming file and line for
// what cannot be read, is of other lengths than the first, or contradicts an earlier file.
GatheredTasks gather_tasks(const std::vector<std::filesystem::path>& files);

} // namespace ordo::lab
