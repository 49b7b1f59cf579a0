// SPDX-License-Identifier: MIT
// Runs on tasks as tables, pictures and sentences. Also as a file, from which runs of several machines are combined.
#pragma once

#include "tools/lab/lab.h"
#include "tools/lab/trained/task_verdicts.h"

#include <filesystem>

namespace ordo::lab {

inline constexpr const char* task_runs_file = "tasks-runs.csv"; // lab tasks --out writes runs_of_tasks() to it

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
