// SPDX-License-Identifier: MIT
// The expectations about the tasks from before any training, and their verdicts by the intervals over the seeds.
#pragma once

#include "tools/lab/trained/task_runs.h"

#include <string>
#include <vector>

namespace ordo::lab {

// [task][encoding]
using AllRuns = std::vector<std::vector<TaskRuns>>;

// A quarter of the head in recipe_of().
inline constexpr const char* quarter_rope = "rope:width=4";

std::vector<std::string> expected_of_tasks();
// A sentence for each expectation, and one for the published order over all tasks.
std::vector<std::string> outcomes_of(const TaskPlan& plan, const AllRuns& all);
// The encodings that solved a task, in how many seeds and steps, and the encodings that did not.
std::string solvers_of(const TaskPlan& plan, std::size_t task, const std::vector<TaskRuns>& runs);

} // namespace ordo::lab
