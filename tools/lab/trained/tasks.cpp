// SPDX-License-Identifier: MIT
// Do encodings generalize from short sequences to longer ones? The question and the tasks are from Kazemnejad et al.
// 2023, arXiv 2305.19466, at a size that trains within the experiment.
#include "tools/lab/math/numbers.h"
#include "tools/lab/trained/task_runs.h"
#include "tools/measure/shapes.h"

namespace ordo::lab {
namespace {

std::vector<const Task*> wanted_tasks(const Request& request) {
    std::vector<const Task*> out;
    if (!request.arguments.has("tasks")) {
        for (const Task& task : tasks())
            if (!request.quick || task.name == "copy") out.push_back(&task);
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

std::vector<std::string> wanted_encodings(const Request& request) {
    const std::string usual = text("none;t5;alibi;", quarter_rope, ";rope;sinusoidal");
    std::vector<std::string> specs = request.encodings(request.quick ? "none;alibi;rope" : usual);
    const auto given = request.arguments.all("encodings");
    const std::vector<std::string> lists(given.begin(), given.end()), named = bench::spec_list(lists);
    const bool none = std::find(named.begin(), named.end(), "none") != named.end();
    if (request.arguments.has("alone") && !none) std::erase(specs, "none");
    return specs;
}

Result run(const Request& request) {
    TaskPlan plan{
        wanted_tasks(request), {}, {1, 1.25, 1.5, 2, 3, 4}, request.integer("seeds", request.quick ? 1 : 5), 64};
    std::vector<std::string> left_out;
    const Dims dims = recipe_of(*plan.tasks[0]).trunk.dims();
    for (std::string& spec : wanted_encodings(request)) {
        const bool second_none = EncodingStack(spec, dims).moments() != 0 && says_nothing_of_position(spec, dims);
        (second_none && !request.arguments.has("encodings") ? left_out : plan.encodings).push_back(std::move(spec));
    }
    const AllRuns all = train_all(plan, request.seed, request.progress);
    Result result = result_of_tasks(plan, all);
    result.tables.push_back(runs_of_tasks(plan, all));
    if (request.quick)
        result.notes.emplace_back("--quick trains a part of a full run: one seed, the task copy, and three encodings, "
                                  "unless options say otherwise. One seed decides nothing.");
    for (const std::string& spec : left_out)
        result.notes.push_back(spec + " is skipped: here it adds the same to every token, like a second `none`.");
    return result;
}

constexpr std::string_view options[] = {"tasks", "seeds", "encodings", "alone"};

} // namespace

extern const Experiment tasks_experiment;
const Experiment tasks_experiment = {
    .name = "tasks",
    .summary = "Which encodings solve longer tasks than they were trained on?",
    .details = "A small model for each encoding and seed learns to copy, reverse, recall, add, and find a parity, "
               "until it solves the task or its steps are over. Then it is tested at 1 to 4 times the trained length. "
               "After Kazemnejad et al. 2023, arXiv 2305.19466. The RoPE of that paper rotates a quarter of each head, "
               "so rope is tested with its full width and with a quarter. 5 seeds; --encodings names other encodings.",
    .options = options,
    .seconds = 2900,
    .quick_seconds = 40,
    .run = run};

} // namespace ordo::lab
