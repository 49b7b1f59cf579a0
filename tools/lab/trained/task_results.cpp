// SPDX-License-Identifier: MIT
#include "tools/lab/trained/task_runs.h"

#include "tools/lab/math/numbers.h"
#include "tools/lab/study/judgement.h"

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
                 ": correct symbols at the greatest length ", found, "; mean of ", plan.seeds,
                 plan.seeds == 1 ? " seed" : " seeds"),
            text("length in ", task.unit), "share of correct symbols", std::move(curves)};
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

// The runs that solved their task, and the best encoding of each task at the greatest length.
std::string answer_of(const TaskPlan& plan, const AllRuns& all) {
    const std::size_t last = plan.times.size() - 1;
    int solved = 0, runs = 0;
    std::string best;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        double most = -1;
        std::string name;
        for (std::size_t e = 0; e < all[t].size(); ++e) {
            solved += solved_of(all[t][e]), runs += plan.seeds;
            const double right = share_at(all[t][e], last, &TaskScore::right_share).mean;
            if (right > most) most = right, name = plan.encodings[e] == "none" ? "`none`" : plan.encodings[e];
        }
        append(best, text(plan.tasks[t]->name, ", ", name, " with ", fixed_text(100 * most, 0), " % of the symbols"),
               "; ");
    }
    return text(solved, " of ", runs, runs == 1 ? " model" : " models", " solved the short task it was trained on. At ",
                tools::number_text(plan.times[last]), " times the trained length the best are: ", best, ".");
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
                       " of the symbols correct. It ends the answer in the place of ", fixed_text(ended, 3),
                       " of the symbols, which is no guess at a symbol",
                       ended < 1 ? text("; of the others, ", fixed_text(right / (1 - ended), 3), " are correct.")
                                 : text("."));
        }
    return out;
}

std::vector<std::string> notes_of(const TaskPlan& plan) {
    std::vector<std::string> notes{
        text("Every model has 3 layers, d_model 64, 4 heads of 16 and a gated feed-forward layer of 128, and is "
             "trained with AdamW. The lengths of each table are equally frequent. Each encoding gets the same examples "
             "in the same order, none of them twice. Training ends a little after the loss on new examples falls below "
             "0.02 nats a token, or after the steps of the task. The test has ",
             plan.samples, " examples at each length, the same for all encodings of a seed."),
        text(
            "exact is the share of answers without a mistake, their ends included. An encoding has solved a task with ",
            fixed_text(solved_share, 1),
            " or more of them at the trained length. right is the share of correct symbols, each predicted from a "
            "correct beginning, without ends. ended is the share of symbols in whose place the model would have ended "
            "the answer. _low and _high are the 95 % interval over ",
            plan.seeds, plan.seeds == 1 ? " seed: none." : " seeds (Wilson's)."),
        "Comparisons are between models of one seed that both solved the task. A task that is unsolved at the trained "
        "length says nothing about longer ones.",
        "Models of this size show a shape, not the published gaps.",
        "Cells are empty if an encoding has no positions for so many tokens: a trained table (learned) has rows for "
        "the trained length alone."};
    if (std::find(plan.tasks.begin(), plan.tasks.end(), &find_task("parity")) != plan.tasks.end())
        notes.emplace_back("The task parity is a running parity: each token of an answer is the exclusive or of the "
                           "token before it and the next bit. The last token is the parity of all bits.");
    return notes;
}

} // namespace

Result result_of_tasks(const TaskPlan& plan, const AllRuns& all) {
    Result result;
    result.answer = answer_of(plan, all);
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
