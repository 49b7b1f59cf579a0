// SPDX-License-Identifier: MIT
#include "tools/lab/trained/task_results.h"

#include "tools/lab/math/numbers.h"
#include "tools/lab/study/judgement.h"

#include <algorithm>
#include <cmath>

namespace ordo::lab {

namespace {

using tools::Cell;
using tools::fixed_text;

// ---- Tables and pictures ----------------------------------------------------------------------

NamedFigures table_of(const TaskPlan& plan, std::size_t t, const std::vector<TaskRuns>& runs) {
    const Task& task = *plan.tasks[t];
    NamedFigures out{std::string(task.name),
                     text(task.name, ": ", task.question, "; trained on ", task.shortest, " to ", task.trained, " ",
                          task.unit, "; ", text_of(task.make(1, 0, std::min(task.trained, 4)))),
                     {{"encoding", "times", std::string(task.unit), "exact", "exact_low", "exact_high", "right",
                       "right_low", "right_high", "ended"},
                      {},
                      3}};
    for (std::size_t e = 0; e < runs.size(); ++e)
        for (std::size_t i = 0; i < plan.times.size(); ++i) {
            const Share exact = share_at(runs[e], i, &TaskScore::exact_share),
                        right = share_at(runs[e], i, &TaskScore::right_share),
                        ended = share_at(runs[e], i, &TaskScore::ended_share);
            out.figures.add(plan.encodings[e], plan.times[i], std::int64_t{length_of(task, plan.times[i])},
                            known(exact.mean), known(exact.interval.low), known(exact.interval.high), known(right.mean),
                            known(right.interval.low), known(right.interval.high), known(ended.mean));
        }
    return out;
}

Picture picture_of(const TaskPlan& plan, std::size_t t, const std::vector<TaskRuns>& runs) {
    const Task& task = *plan.tasks[t];
    Curves curves;
    curves.interval = "95 % interval over the seeds";
    for (std::size_t e = 0; e < runs.size(); ++e) {
        Series& series = curves.series.emplace_back();
        series.label = plan.encodings[e];
        series.style = Series::Style::line_points;
        for (std::size_t i = 0; i < plan.times.size(); ++i) {
            const Share right = share_at(runs[e], i, &TaskScore::right_share);
            if (std::isnan(right.mean)) continue;
            series.x.push_back(length_of(task, plan.times[i]));
            series.y.push_back(right.mean);
            if (!right.interval.known()) continue;
            series.low.push_back(right.interval.low);
            series.high.push_back(right.interval.high);
        }
    }
    curves.references = {{text("guessing, 1 of ", task.choices), 1.0 / task.choices}};
    const std::string found = extremes_of(curves);
    return {text(task.name, "-by-length"),
            text(task.name, ", trained on up to ", task.trained, " ", task.unit,
                 ": right symbols at the greatest length ", found, "; mean of ", plan.seeds,
                 plan.seeds == 1 ? " seed" : " seeds"),
            text("length in ", task.unit), "share of the answer's symbols that are right", std::move(curves)};
}

NamedFigures summary_of(const TaskPlan& plan, const AllRuns& all) {
    int solved = 0, runs = 0;
    for (const auto& task : all)
        for (const TaskRuns& one : task) solved += solved_of(one), runs += plan.seeds;
    NamedFigures out{"summary",
                     text(solved, " of ", runs, " runs solved their task: seeds of ", plan.seeds,
                          ", steps until then, and the share of right symbols beyond the trained length"),
                     {{"task", "encoding", "solved", "steps", "beyond", "beyond_low", "beyond_high"}, {}, 3}};
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
        for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
            Sample steps;
            for (const TaskRun& run : all[t][e]) steps.add(run.steps);
            const Share beyond = beyond_of(all[t][e]);
            out.figures.add(std::string(plan.tasks[t]->name), plan.encodings[e], std::int64_t{solved_of(all[t][e])},
                            std::int64_t{std::lround(steps.mean())}, known(beyond.mean), known(beyond.interval.low),
                            known(beyond.interval.high));
        }
    return out;
}

// Explains a proportion below guessing: the proportion correct among the symbols that are not early ends.
std::string below_guessing(const TaskPlan& plan, std::size_t t, const std::vector<TaskRuns>& runs) {
    const Task& task = *plan.tasks[t];
    const double guessing = 1.0 / task.choices;
    double least = guessing;
    std::string out;
    for (std::size_t e = 0; e < runs.size(); ++e)
        for (std::size_t i = 1; i < plan.times.size(); ++i) {
            const Share share = share_at(runs[e], i, &TaskScore::right_share);
            const double right = share.mean, ended = share_at(runs[e], i, &TaskScore::ended_share).mean;
            if (below(share.interval, guessing) != Verdict::held || right >= least) continue;
            least = right;
            out = text(task.name, " falls below guessing: at ", length_of(task, plan.times[i]), " ", task.unit, " ",
                       plan.encodings[e], " has ", fixed_text(right, 3),
                       " of the symbols right. It writes the end of the answer in the place of ", fixed_text(ended, 3),
                       ", which is no guess at a symbol",
                       ended < 1 ? text("; of the others ", fixed_text(right / (1 - ended), 3), " are right.")
                                 : text("."));
        }
    return out;
}

std::vector<std::string> notes_of(const TaskPlan& plan) {
    std::vector<std::string> notes{
        text(
            "Every model: 3 layers, d_model 64, 4 heads of 16, gated feed-forward of 128; AdamW; the lengths that each "
            "table names, one as often as another; the same examples in the same order for each encoding, none of "
            "them twice. Training ends a little after the loss on new examples has fallen below 0.02 nats a token, or "
            "with the steps that a task has. ",
            plan.samples,
            " examples at each length, the same for all encodings of a seed, through the engine's own inference."),
        text("exact: all tokens of an answer right, its end included; solved: ", fixed_text(solved_share, 1),
             " of them or more at the trained length; right: symbols, each predicted from a right beginning, ends not "
             "counted; ended: symbols in whose place the model would have ended the answer; _low, _high: 95 % interval "
             "over ",
             plan.seeds, plan.seeds == 1 ? " seed: none." : " seeds, Wilson's."),
        "Comparisons are between models of one seed that both solved the task. What an encoding has not learnt at the "
        "trained length says nothing of how far it would carry.",
        "Models of this size show a shape, not the published gaps.",
        "Cells are empty where an encoding has no positions for so many tokens: a trained table (learned) has rows for "
        "the trained length alone."};
    if (std::find(plan.tasks.begin(), plan.tasks.end(), &find_task("parity")) != plan.tasks.end())
        notes.emplace_back(
            "parity is asked as a running parity: each token of an answer is the one before it, exclusive "
            "or the next bit. The parity of the whole is the last of them.");
    return notes;
}

} // namespace

Result result_of_tasks(const TaskPlan& plan, const AllRuns& all) {
    Result result;
    result.expected = expected_of_tasks();
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        result.tables.push_back(table_of(plan, t, all[t]));
        result.pictures.push_back(picture_of(plan, t, all[t]));
        result.found.push_back(solvers_of(plan, t, all[t]));
    }
    result.tables.push_back(summary_of(plan, all));
    for (std::string& line : outcomes_of(plan, all)) result.found.push_back(std::move(line));
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
        if (std::string why = below_guessing(plan, t, all[t]); !why.empty()) result.found.push_back(std::move(why));
    result.notes = notes_of(plan);
    return result;
}

} // namespace ordo::lab
