// SPDX-License-Identifier: MIT
// Do encodings generalize from short sequences to longer ones? The question and the tasks are from Kazemnejad et al.
// 2023, arXiv 2305.19466, at a size that trains within the experiment.
#include "tools/lab/trained/task_runs.h"
#include "tools/measure/shapes.h"

namespace ordo::lab {
namespace {

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
            add_row(out.figures, plan.encodings[e], plan.times[i], length_of(task, plan.times[i]),
                    share_at(runs[e], i, &TaskScore::exact_share), share_at(runs[e], i, &TaskScore::right_share),
                    share_at(runs[e], i, &TaskScore::ended_share).mean);
        }
    return out;
}

Picture picture_of(const TaskPlan& plan, std::size_t t, const std::vector<TaskRuns>& runs) {
    const Task& task = *plan.tasks[t];
    Curves curves;
    curves.interval = "95 % interval over the seeds";
    for (std::size_t e = 0; e < runs.size(); ++e) {
        Series& series = curves.add(plan.encodings[e], Series::Style::line_points);
        for (std::size_t i = 0; i < plan.times.size(); ++i) {
            const Share right = share_at(runs[e], i, &TaskScore::right_share);
            if (std::isnan(right.mean)) continue;
            const int length = length_of(task, plan.times[i]);
            if (right.interval.known())
                series.add(length, right.mean, right.interval.low, right.interval.high);
            else
                series.add(length, right.mean);
        }
    }
    curves.references = {{text("guessing, 1 of ", task.choices), 1.0 / task.choices}};
    const std::string found = extremes_of(curves);
    return {text(task.name, "-by-length"),
            text(task.name, ", trained on up to ", task.trained, " ", task.unit,
                 ": correct symbols at the greatest length ", found, "; mean of ", counted(plan.seeds, "seed")),
            text("length in ", task.unit), "share of correct symbols", std::move(curves)};
}

// The runs that solved their task, and all runs.
std::pair<int, int> solved_in(const AllRuns& all) {
    int solved = 0, runs = 0;
    for (const auto& task : all)
        for (const TaskRuns& one : task) solved += solved_of(one), runs += static_cast<int>(one.size());
    return {solved, runs};
}

NamedFigures summary_of(const TaskPlan& plan, const AllRuns& all) {
    const auto [solved, runs] = solved_in(all);
    NamedFigures out{"summary",
                     text(solved, " of ", runs, " runs solved their task: seeds of ", plan.seeds,
                          ", steps until then, and the share of right symbols beyond the trained length"),
                     {{"task", "encoding", "solved", "steps", "beyond", "beyond_low", "beyond_high"}, {}, 3}};
    for (std::size_t t = 0; t < plan.tasks.size(); ++t)
        for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
            add_row(out.figures, plan.tasks[t]->name, plan.encodings[e], solved_of(all[t][e]), steps_of(all[t][e]),
                    beyond_of(all[t][e]));
        }
    return out;
}

// The runs that solved their task, and the best encoding of each task at the greatest length.
std::string answer_of(const TaskPlan& plan, const AllRuns& all) {
    const std::size_t last = plan.times.size() - 1;
    const auto [solved, runs] = solved_in(all);
    std::string best;
    for (std::size_t t = 0; t < plan.tasks.size(); ++t) {
        double most = -1;
        std::string name;
        for (std::size_t e = 0; e < all[t].size(); ++e) {
            const double right = share_at(all[t][e], last, &TaskScore::right_share).mean;
            if (right > most) most = right, name = in_text(plan.encodings[e]);
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
            counted(plan.seeds, "seed"), plan.seeds == 1 ? ": none." : " (Wilson's)."),
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

// ---- Segments: the same machinery for a task that needs them -------------------------------------

Result run_segments(const Request& request) {
    constexpr double chance = 0.5, bound = 0.6;
    const TaskPlan plan{{&segment_task()},
                        request.encodings("none;rope;segment;segment+rope"),
                        {1, 1.25, 1.5, 2},
                        request.integer("seeds", request.quick ? 2 : 5),
                        256};
    const AllRuns all = train_all(plan, request.seed, request.progress);
    Expectations expectations;
    Judgement& with = expectations.expect(text("With `segment`, a model answers at least ", solved_share,
                                               " of the questions from the part that is asked."));
    Judgement& without = expectations.expect(text("Without it, no model answers ", bound,
                                                  " of them: it can find the two "
                                                  "answers, but not which one is asked for."));
    std::string shares;
    for (std::size_t e = 0; e < plan.encodings.size(); ++e) {
        const Share right = share_at(all[0][e], 0, &TaskScore::right_share);
        const std::string name = text(in_text(plan.encodings[e]), " ", fixed_text(100 * right.mean, 0), " %");
        append(shares, name);
        if (plan.encodings[e].find("segment") != std::string::npos)
            with.add(above(right.interval, solved_share), name);
        else
            without.add(below(right.interval, bound), name);
    }
    Result result;
    result.answer = text("It tells parts of a text apart. Asked about one of two parts that disagree, models answer "
                         "from that part in: ",
                         shares, ". Without segments, half is the best.");
    result.found = {solvers_of(plan, 0, all[0])};
    expectations.write_to(result);
    result.pictures = {picture_of(plan, 0, all[0])};
    result.pictures[0].title =
        text("Answers from the part that is asked for, ", segment_task().trained, " keys in each: ", shares);
    std::get<Curves>(result.pictures[0].content).references = {{"one of the two parts, by chance", chance}};
    result.tables = {table_of(plan, 0, all[0])};
    result.notes = {text("An example: ", text_of(segment_task().make(1, 0, 2)),
                         ". The facts of two parts stand in a random order, and only their segments tell the parts "
                         "apart: ' marks the second. The last key asks for its digit in the part of its segment."),
                    text("Every model gets the segments; only `segment` adds something for them. Models and training "
                         "are those of `ordo lab tasks`: at most ",
                         segment_task().steps, " steps of ", segment_task().batch, " questions, ",
                         counted(plan.seeds, "seed"), "; ", plan.samples,
                         " questions of each number of keys. More than ", segment_task().trained,
                         " keys were not trained.")};
    return result;
}

} // namespace

const Experiment segments_experiment{
    .name = "segments",
    .summary = "What does an encoding of segments add?",
    .details = "Small models read two parts of a text that disagree, with a segment for each token, and answer a "
               "question about one of the parts, with and without `segment` (Devlin et al. 2019, arXiv 1810.04805), "
               "alone and together with RoPE. 5 seeds; --encodings names other encodings.",
    .options = {"seeds", "encodings"},
    .seconds = {30, 12},
    .run = run_segments};

const Experiment tasks_experiment{
    .name = "tasks",
    .summary = "Which encodings solve longer tasks than they were trained on?",
    .details = "A small model for each encoding and seed learns to copy, reverse, recall, add, and find a parity, "
               "until it solves the task or its steps are over. Then it is tested at 1 to 4 times the trained length. "
               "After Kazemnejad et al. 2023, arXiv 2305.19466. The RoPE of that paper rotates a quarter of each head, "
               "so rope is tested with its full width and with a quarter. 5 seeds; --encodings names other encodings.",
    .options = {"tasks", "seeds", "encodings", "alone"},
    .seconds = {2900, 40},
    .run = run};

} // namespace ordo::lab
