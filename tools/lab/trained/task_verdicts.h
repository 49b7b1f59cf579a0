// SPDX-License-Identifier: MIT
// What was expected of the tasks before any model was trained, and what the intervals over the seeds say of it.
#pragma once

#include "tools/lab/trained/task_runs.h"

#include <string>
#include <vector>

namespace ordo::lab {

// [task][encoding]
using AllRuns = std::vector<std::vector<TaskRuns>>;

// A quarter of the head of recipe_of().
inline constexpr const char* quarter_rope = "rope:width=4";

std::vector<std::string> expected_of_tasks();
// A sentence for each expectation, and one for the published order over all tasks.
std::vector<std::string> outcomes_of(const TaskPlan& plan, const AllRuns& all);
// Who solved a task, in how many seeds and steps, and who did not.
std::string solvers_of(const TaskPlan& plan, std::size_t task, const std::vector<TaskRuns>& runs);

} // namespace ordo::lab
