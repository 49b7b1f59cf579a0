// SPDX-License-Identifier: MIT
#include "tools/lab/trained/task_runs.h"

#include "tools/lab/math/numbers.h"
#include "tools/lab/study/judgement.h"

namespace ordo::lab {
namespace {

using tools::fixed_text;

// Pairs whose first encoding generalizes further (Kazemnejad et al. 2023, figure 1: T5's bias and none about equal,
// then ALiBi, a rotary encoding of a quarter of each head, and sinusoids).
constexpr std::array<std::pair<const char*, const char*>, 4> published_order = {
    {{"none", "alibi"}, {"t5", "alibi"}, {"alibi", quarter_rope}, {quarter_rope, "sinusoidal"}}};
constexpr double far_times = 2;

std::string name(const std::string& encoding) {
    return encoding == "none" ? "`none`" : encoding;
}

std::size_t place_of(const TaskPlan& plan, std::string_view encoding) {
    return static_cast<std::size_t>(std::find(plan.encodings.begin(), plan.encodings.end(), encoding) -
                                    plan.encodings.begin());
}

// The first encoding's lead beyond the trained length, for each seed in which both solved the task.
Vector ahead(const TaskRuns& first, const TaskRuns& second) {
    Vector differences;
    for (std::size_t s = 0; s < first.size(); ++s)
        if (first[s].solved() && second[s].solved()) differences.push_back(first[s].beyond() - second[s].beyond());
    return differences;
}

// A case for each task that both encodings solved.
void compare(Judgement& judgement, const TaskPlan& plan, const AllRuns& all, const std::string& first,
             const std::string& second) {
    const std::size_t a = place_of(plan, first), b = place_of(plan, second);
    if (a == plan.encodings.size() || b == plan.encodings.size()) return;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        const Vector differences = ahead(all[t][a], all[t][b]);
        if (differences.empty()) continue;
        const Mean mean = mean_of(differences);
        judgement.add(above(mean.interval(), 0), text(plan.tasks[t]->name, ": ", name(first), " over ", name(second),
                                                      " ", fixed_text(mean.mean, 3), margin(mean.half)));
    }
}

// The published order over all tasks: the lead of the first of two encodings, mean over the tasks that both solved in
// every seed.
std::string order_over_tasks(const TaskPlan& plan, const AllRuns& all) {
    std::string pairs;
    for (const auto& [first, second] : published_order) {
        const std::size_t a = place_of(plan, first), b = place_of(plan, second);
        if (a == plan.encodings.size() || b == plan.encodings.size()) continue;
        Vector sums(static_cast<std::size_t>(plan.seeds));
        int tasks = 0;
        for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
            const Vector differences = ahead(all[t][a], all[t][b]);
            if (differences.size() < sums.size()) continue;
            ++tasks;
            for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += differences[s];
        }
        if (tasks == 0) continue;
        for (double& sum : sums) sum /= tasks;
        const Mean mean = mean_of(sums);
        append(pairs,
               text(name(first), " over ", name(second), " ", fixed_text(mean.mean, 3), margin(mean.half), " on ",
                    tasks, tasks == 1 ? " task, " : " tasks, ", name_of(above(mean.interval(), 0))),
               "; ");
    }
    return pairs.empty()
               ? "The published order could not be tested: no two neighbours both solved a task in every seed."
               : "The published order, mean share of correct symbols beyond the trained length: " + pairs + ".";
}

// Exact match at far lengths, for encodings that solved the task in all seeds.
Judgement far_lengths(const TaskPlan& plan, const AllRuns& all) {
    Judgement cases;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
        for (std::size_t e = 0; e < plan.encodings.size(); ++e)
            for (std::size_t i = 0; i < plan.times.size(); ++i) {
                const Share exact = share_at(all[t][e], i, &TaskScore::exact_share);
                if (plan.times[i] < far_times || std::isnan(exact.mean) || solved_of(all[t][e]) < plan.seeds) continue;
                cases.add(below(exact.interval, 0.5),
                          text(plan.tasks[t]->name, " at ", tools::number_text(plan.times[i]), ": ",
                               name(plan.encodings[e]), " ", fixed_text(exact.mean, 2)));
            }
    return cases;
}

} // namespace

std::vector<std::string> expected_of_tasks() {
    return {text("Beyond the trained length, the share of correct symbols falls in the published order (Kazemnejad et "
                 "al. 2023): none and t5, then alibi, then ",
                 quarter_rope, ", then sinusoidal; between neighbours of this order, on every task that both solve."),
            text("No encoding solves a task at ", tools::number_text(far_times),
                 " times the trained length or more: exact match stays below one half for models of this size."),
            "Rotating a quarter of a head extrapolates further than rotating all of it."};
}

std::vector<std::string> outcomes_of(const TaskPlan& plan, const AllRuns& all) {
    const std::string unsolved = ": no two models that it compares solved a task";
    Judgement order, rope;
    for (const auto& [first, second] : published_order) compare(order, plan, all, first, second);
    compare(rope, plan, all, quarter_rope, "rope");
    return {order.sentence(1, unsolved), far_lengths(plan, all).sentence(2, ": no model solved a task in every seed"),
            rope.sentence(3, unsolved), order_over_tasks(plan, all)};
}

std::string solvers_of(const TaskPlan& plan, std::size_t task, const std::vector<TaskRuns>& runs) {
    std::string all, some, none;
    for (std::size_t e = 0; e < runs.size(); ++e) {
        const int solved = solved_of(runs[e]);
        Sample steps;
        for (const TaskRun& run : runs[e]) steps.add(run.steps);
        if (solved == plan.seeds)
            append(all, text(name(plan.encodings[e]), " (", std::lround(steps.mean()), " steps)"));
        else if (solved > 0)
            append(some, text(name(plan.encodings[e]), " (", solved, " of ", plan.seeds, " seeds)"));
        else
            append(none, name(plan.encodings[e]));
    }
    const std::string most = text(plan.tasks[task]->steps, " steps");
    std::string out = text(plan.tasks[task]->name, plan.seeds == 1 ? ", one seed: solved by " : ": solved by ",
                           !all.empty()      ? all
                           : plan.seeds == 1 ? "no encoding"
                                             : "no encoding in every seed");
    if (!some.empty()) out += "; in part by " + some;
    if (!none.empty()) out += text("; UNSOLVED after ", most, " with ", none);
    return out + ".";
}

} // namespace ordo::lab
