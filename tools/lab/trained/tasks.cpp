// SPDX-License-Identifier: MIT
// Do encodings generalize from short sequences to longer ones? The question and the tasks are from Kazemnejad et al.
// 2023, arXiv 2305.19466, at a size that trains within the experiment.
#include "encoding/base/registry.h"
#include "encoding/base/spec.h"
#include "tools/bench/shapes.h"
#include "tools/lab/study/answers.h"
#include "tools/lab/trained/task_runs.h"

namespace ordo::lab {

Share right_at(const TaskRuns& runs, std::size_t i) {
    return share_at(runs, i, &TaskScore::right_share);
}

NamedFigures table_of(const TaskPlan& plan, std::size_t t, const std::vector<TaskRuns>& runs) {
    const Task& task = *plan.tasks[t];
    NamedFigures out{std::string(task.name),
                     told("{}: {}; trained on {} to {} {}; {}", task.name, task.question, task.shortest, task.trained,
                          task.unit, text_of(task.make(1, 0, std::min(task.trained, 4)))),
                     {{"encoding", "times", std::string(task.unit), "exact", "exact_low", "exact_high", "right",
                       "right_low", "right_high", "ended"},
                      {},
                      3}};
    for (std::size_t e = 0; e < runs.size(); ++e)
        for (std::size_t i = 0; i < plan.times.size(); ++i)
            add_row(out.figures, plan.encodings[e], plan.times[i], length_of(task, plan.times[i]),
                    share_at(runs[e], i, &TaskScore::exact_share), right_at(runs[e], i),
                    share_at(runs[e], i, &TaskScore::ended_share).mean);
    return out;
}

Picture picture_of(const TaskPlan& plan, std::size_t t, const std::vector<TaskRuns>& runs) {
    const Task& task = *plan.tasks[t];
    Vector lengths;
    for (const double times : plan.times) lengths.push_back(length_of(task, times));
    Curves curves = curves_of(
        plan.encodings, lengths, [&](std::size_t e, std::size_t i) { return right_at(runs[e], i); },
        "95 % interval over the seeds");
    curves.references = {{told("guessing, 1 of {}", task.choices), 1.0 / task.choices}};
    const std::string found = extremes_of(curves);
    return {text(task.name, "-by-length"),
            told("{}, trained on up to {} {}: correct symbols at the greatest length {}; seeds: {}", task.name,
                 task.trained, task.unit, found, plan.seeds),
            told("length in {}", task.unit), "share of correct symbols", std::move(curves)};
}

namespace tasks_file {

const std::vector<std::string> notes{
    "Every model has 3 layers, d_model 64, 4 heads of 16 and a gated feed-forward layer of 128. The lengths of each "
    "table are equally frequent, and every encoding gets the same examples once. Training ends a little after the loss "
    "on new examples falls below 0.02 nats a token, or after the steps of the task.",
    "exact: the share of answers without a mistake, ends included; 0.9 at the trained length solves a task. right: the "
    "share of correct symbols, each predicted from a correct beginning, without ends. ended: the share of symbols in "
    "whose place the model would have ended the answer. _low and _high: Wilson's 95 % interval over the seeds.",
    "Comparisons are between models of one seed that both solved the task. A task that is unsolved at the trained "
    "length says nothing about longer ones. Models of this size show a shape, not the published gaps.",
    "A cell is empty if the encoding has no positions for the length, as a trained table beyond its rows. An "
    "encoding that adds the same to every token is skipped: it is a second `none`.",
    "parity is a running parity: each token of an answer is the parity of the bits so far."};

} // namespace tasks_file

Result result_of_tasks(const TaskPlan& plan, const AllRuns& all) {
    Result result;
    NamedFigures summary{"summary",
                         "Seeds that solved the task, their steps, and the share of right symbols at greater lengths",
                         {{"task", "encoding", "solved", "steps", "beyond", "beyond_low", "beyond_high"}, {}, 3}};
    int solved = 0, models = 0;
    std::string best;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        result.tables.push_back(table_of(plan, t, all[t]));
        result.pictures.push_back(picture_of(plan, t, all[t]));
        result.found.push_back(solvers_of(plan, t, all[t]));
        for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
            add_row(summary.figures, plan.tasks[t]->name, plan.encodings[e], solved_of(all[t][e]), steps_of(all[t][e]),
                    beyond_of(all[t][e]));
            solved += solved_of(all[t][e]), models += plan.seeds;
        }
        append(best,
               told("{} {}, and {} by guessing", plan.tasks[t]->name,
                    ends_of(plan.encodings,
                            [&](std::size_t e) { return right_at(all[t][e], plan.times.size() - 1).mean; }),
                    figure(1.0 / plan.tasks[t]->choices, 2)),
               "; ");
    }
    result.answer =
        told("{} of {} models solved their task at the trained length. At {} times the length, these shares of "
             "their symbols are right (means over seeds, without a test): {}.",
             solved, models, tools::number_text(plan.times.back()), best);
    result.tables.push_back(std::move(summary));
    result.expected = expected_of_tasks();
    for (std::string& line : outcomes_of(plan, all)) result.found.push_back(std::move(line));
    result.notes = tasks_file::notes;
    return result;
}

namespace tasks_file {

std::vector<const Task*> wanted_tasks(const Request& request) {
    std::vector<const Task*> out;
    if (!request.arguments.has("tasks")) {
        for (const Task& task : tasks())
            if (request.quick ? task.name == "copy" : task.encodings.empty()) out.push_back(&task);
        return out;
    }
    std::istringstream list(request.arguments.text("tasks"));
    for (std::string name; std::getline(list, name, ',');) {
        const Task* task = &find_task(name);
        if (std::find(out.begin(), out.end(), task) == out.end()) out.push_back(task);
    }
    if (out.empty()) find_task("");
    return out;
}

// The encodings that the tasks are for, as far as they are registered; the usual ones for other tasks.
std::string encodings_of(const std::vector<const Task*>& wanted) {
    const std::string usual = text("none;t5;alibi;", quarter_rope, ";rope;sinusoidal");
    std::vector<std::string> specs;
    for (const Task* task : wanted) {
        const std::string own(task->encodings.empty() ? usual : task->encodings);
        for (const std::string& spec : bench::spec_list({&own, 1}))
            if (is_registered(ordo::name_of(spec)) && std::ranges::find(specs, spec) == specs.end())
                specs.push_back(spec);
    }
    std::string list;
    for (const std::string& spec : specs) append(list, spec, ";");
    return list;
}

std::vector<std::string> wanted_encodings(const Request& request, const std::vector<const Task*>& tasks) {
    std::vector<std::string> specs = request.encodings(request.quick ? "none;alibi;rope" : encodings_of(tasks));
    const auto given = request.arguments.all("encodings");
    const std::vector<std::string> lists(given.begin(), given.end()), named = bench::spec_list(lists);
    const bool none = std::find(named.begin(), named.end(), "none") != named.end();
    if (request.arguments.has("alone") && !none) std::erase(specs, "none");
    return specs;
}

} // namespace tasks_file

TaskPlan plan_of_tasks(const Request& request) {
    TaskPlan plan{tasks_file::wanted_tasks(request),
                  {},
                  {1, 1.25, 1.5, 2, 3, 4},
                  request.integer("seeds", request.quick ? 1 : 5),
                  64};
    const Dims dims = recipe_of(*plan.tasks[0]).trunk.dims();
    const bool chosen = request.arguments.has("encodings") ||
                        std::ranges::any_of(plan.tasks, [](const Task* task) { return !task->encodings.empty(); });
    for (std::string& spec : tasks_file::wanted_encodings(request, plan.tasks)) {
        const bool second_none = ModelEncodings(spec, dims).moments() != 0 && says_nothing_of_position(spec, dims);
        if (!second_none || chosen) plan.encodings.push_back(std::move(spec));
    }
    return plan;
}

namespace tasks_file {

Result run(const Request& request) {
    const TaskPlan plan = plan_of_tasks(request);
    const AllRuns all = train_all(plan, request.seed, request.progress);
    Result result = result_of_tasks(plan, all);
    result.tables.push_back(runs_of_tasks(plan, all));
    return result;
}

} // namespace tasks_file

const Experiment tasks_experiment{
    .name = "tasks",
    .summary = "Which encodings solve longer tasks than in training?",
    .details = "A small model for each encoding and seed learns to copy, reverse, recall, add, and find a parity, "
               "until it solves the task or its steps are over. Then it is tested at 1 to 4 times the trained length. "
               "After Kazemnejad et al. 2023, arXiv 2305.19466. The RoPE of that paper rotates a quarter of each head, "
               "so rope is tested with its full width and with a quarter. 5 seeds; --encodings names other encodings.",
    .options = {"tasks", "seeds", "encodings", "alone"},
    .seconds = {2900, 40},
    .run = tasks_file::run};

} // namespace ordo::lab
