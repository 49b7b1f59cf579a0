// SPDX-License-Identifier: MIT
#include "tools/lab/trained/task_runs.h"

namespace ordo::lab {
namespace {

// Pairs whose first encoding generalizes further (Kazemnejad et al. 2023, figure 1: T5's bias and none about equal,
// then ALiBi, a rotary encoding of a quarter of each head, and sinusoids).
constexpr std::array<std::pair<const char*, const char*>, 4> published_order = {
    {{"none", "alibi"}, {"t5", "alibi"}, {"alibi", quarter_rope}, {quarter_rope, "sinusoidal"}}};
constexpr double far_times = 2;

// The first encoding's lead beyond the trained length, for each seed in which both solved the task. By task; empty
// without one of the encodings.
std::vector<Vector> leads(const TaskPlan& plan, const AllRuns& all, std::string_view first, std::string_view second) {
    std::vector<Vector> out(plan.tasks.size());
    const auto place = [&](std::string_view encoding) {
        return static_cast<std::size_t>(std::ranges::find(plan.encodings, encoding) - plan.encodings.begin());
    };
    const std::size_t a = place(first), b = place(second);
    if (a == plan.encodings.size() || b == plan.encodings.size()) return out;
    for (std::size_t t = 0; t < out.size(); ++t)
        for (std::size_t s = 0; s < all[t][a].size(); ++s)
            if (const TaskRun& one = all[t][a][s], &other = all[t][b][s]; one.solved() && other.solved())
                out[t].push_back(one.beyond() - other.beyond());
    return out;
}

// A case for each task that both encodings solved.
void compare(Judgement& judgement, const TaskPlan& plan, const AllRuns& all, const std::string& first,
             const std::string& second) {
    const std::vector<Vector> by_task = leads(plan, all, first, second);
    for (std::size_t t = 0; t < by_task.size(); ++t) {
        if (by_task[t].empty()) continue;
        const Mean mean = mean_of(by_task[t]);
        judgement.add(above(mean.interval(), 0),
                      text(plan.tasks[t]->name, ": ", in_text(first), " over ", in_text(second), " ",
                           fixed_text(mean.mean, 3), margin(mean.half)));
    }
}

// The published order over all tasks: the lead of the first of two encodings, mean over the tasks that both solved in
// every seed.
std::string order_over_tasks(const TaskPlan& plan, const AllRuns& all) {
    std::string pairs;
    for (const auto& [first, second] : published_order) {
        Vector sums(plan.seeds);
        int tasks = 0;
        for (const Vector& lead : leads(plan, all, first, second)) {
            if (lead.size() < sums.size()) continue;
            ++tasks;
            for (std::size_t s = 0; s < sums.size(); ++s) sums[s] += lead[s];
        }
        if (tasks == 0) continue;
        for (double& sum : sums) sum /= tasks;
        const Mean mean = mean_of(sums);
        append(pairs,
               told("{} over {} {}{}, tasks: {}, {}", in_text(first), in_text(second), fixed_text(mean.mean, 3),
                    margin(mean.half), tasks, name_of(above(mean.interval(), 0))),
               "; ");
    }
    return told("The published order, mean share of correct symbols beyond the trained length: {}.", or_none(pairs));
}

// A case for each task with a predicted winner and each other encoding, over the seeds, solved or not.
Judgement winners(const TaskPlan& plan, const AllRuns& all) {
    Judgement cases;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        const auto won = std::ranges::find(plan.encodings, plan.tasks[t]->winner);
        if (won == plan.encodings.end()) continue;
        const TaskRuns& winner = all[t][static_cast<std::size_t>(won - plan.encodings.begin())];
        for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
            if (plan.encodings[e] == *won) continue;
            Vector leads;
            for (std::size_t s = 0; s < winner.size(); ++s) leads.push_back(winner[s].beyond() - all[t][e][s].beyond());
            const Mean mean = mean_of(leads);
            cases.add(above(mean.interval(), 0),
                      text(plan.tasks[t]->name, ": ", in_text(*won), " over ", in_text(plan.encodings[e]), " ",
                           fixed_text(mean.mean, 3), margin(mean.half)));
        }
    }
    return cases;
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
                               in_text(plan.encodings[e]), " ", fixed_text(exact.mean, 2)));
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
            "Rotating a quarter of a head extrapolates further than rotating all of it.",
            "Beyond the trained length path has more correct symbols than the others where a state must be followed, "
            "abacus in long additions, pope where places are counted from a letter."};
}

std::vector<std::string> outcomes_of(const TaskPlan& plan, const AllRuns& all) {
    const std::string unsolved = ": no two models that it compares solved a task";
    Judgement order, rope;
    for (const auto& [first, second] : published_order) compare(order, plan, all, first, second);
    compare(rope, plan, all, quarter_rope, "rope");
    return {order.sentence(1, unsolved), far_lengths(plan, all).sentence(2, ": no model solved a task in every seed"),
            rope.sentence(3, unsolved), winners(plan, all).sentence(4, ": no task of these ran"),
            order_over_tasks(plan, all)};
}

std::string solvers_of(const TaskPlan& plan, std::size_t task, const std::vector<TaskRuns>& runs) {
    std::string seeds;
    for (std::size_t e = 0; e < runs.size(); ++e)
        append(seeds, told("{} {} ({} steps)", in_text(plan.encodings[e]), solved_of(runs[e]), steps_of(runs[e])));
    return told("{}, seeds of {} that solved it in at most {} steps: {}.", plan.tasks[task]->name, plan.seeds,
                plan.tasks[task]->steps, seeds);
}

} // namespace ordo::lab
