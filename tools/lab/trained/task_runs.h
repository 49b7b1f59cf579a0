// SPDX-License-Identifier: MIT
// Models that are trained on a task until they solve it, and what they answer at lengths that they never saw.
#pragma once

#include "tools/lab/math/statistics.h"
#include "tools/lab/study/grid.h"
#include "tools/lab/trained/synthetic.h"

#include <functional>

namespace ordo::lab {

inline constexpr double solved_share = 0.9; // exact match at the trained length that counts as having solved a task

struct TaskPlan {
    std::vector<const Task*> tasks;
    std::vector<std::string> encodings;
    std::vector<double> times; // lengths, in trained ones; the first is 1
    int seeds, samples;        // models of each encoding and task; examples that each is asked at each length
};

// What one model answered at one length; nothing was asked where its encoding has no position for so many tokens.
struct TaskScore {
    int examples = 0, exact = 0; // of these, every token of the answer right, its end included
    int asked = 0, right = 0;    // symbols of answers, which their ends are not
    int ended = 0;               // symbols in whose place the model would have ended the answer

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
    // Share of right symbols beyond the trained length, mean over the lengths; NaN if there are no positions there.
    double beyond() const;
};

// The models of one encoding on one task, by seed.
using TaskRuns = std::vector<TaskRun>;
int solved_of(const TaskRuns& runs);
// Over the seeds, at one length. The mean is NaN where nothing was asked.
Share share_at(const TaskRuns& runs, std::size_t length, double (TaskScore::*share)() const);
Share beyond_of(const TaskRuns& runs);

int length_of(const Task& task, double times);
Recipe recipe_of(const Task& task);
TaskScore score(const Model& model, const Task& task, int length, int samples, std::uint64_t seed);
// [task][encoding]
Grid<TaskRun> train_all(const TaskPlan& plan, std::uint64_t seed,
                        const std::function<void(const std::string&)>& progress);

} // namespace ordo::lab
