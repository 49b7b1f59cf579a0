// SPDX-License-Identifier: MIT
// Do encodings generalize from short sequences to longer ones? The question and the tasks are from Kazemnejad et al.
// 2023, arXiv 2305.19466, at a size that trains within the experiment.
#include "tools/lab/math/numbers.h"
#include "tools/lab/trained/task_results.h"
#include "tools/measure/shapes.h"

#include <algorithm>
#include <sstream>

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
        result.notes.emplace_back("--quick trains the first of the seeds that a full run has, unless asked otherwise "
                                  "on copy alone with three "
                                  "encodings: a part of a full run; one seed decides nothing.");
    for (const std::string& spec : left_out)
        result.notes.push_back(spec +
                               " is left out: it adds the same to every token here, and would be a second `none`.");
    return result;
}

constexpr std::string_view options[] = {"tasks", "seeds", "encodings", "alone"};

} // namespace

extern const Experiment tasks_experiment;
const Experiment tasks_experiment = {
    .name = "tasks",
    .summary = "which encodings carry what was learnt on short sequences to longer ones?",
    .details =
        "Copy, reverse, recall, parity and addition, learnt on the spot by a small model for each encoding and "
        "seed until it solves them or its steps are over, then asked at 1 to 4 times the trained length. After "
        "Kazemnejad et al. 2023, arXiv 2305.19466; "
        "its rotary encoding turns a quarter of each head, so that rope stands here with its full width and "
        "with a quarter. Encodings of that paper's order and rope in full unless --encodings names others, 5 seeds.",
    .options = options,
    .seconds = 2900,
    .quick_seconds = 40,
    .run = run};

} // namespace ordo::lab
