// SPDX-License-Identifier: MIT
// Does one encoding predict better than another, by more than the difference between seeds?
#include "tools/lab/shipped/compare_runs.h"
#include "tools/lab/trained/task_runs.h"
#include "tools/opening/weights.h"

#include <system_error>

namespace ordo::lab {
namespace compare_file {

// Uses the losses that bench/seeds.sh kept.
std::vector<Group> take(KeptRuns kept, Result& result) {
    std::set<std::string> budgets;
    std::size_t runs = 0, encodings = 0;
    bool documents = true;
    for (const Group& group : kept.groups) {
        runs += group.runs.size(), encodings += group.trunk.empty();
        for (const auto& [seed, run] : group.runs) {
            budgets.insert(run.tokens);
            documents = documents && !run.documents.empty();
        }
    }
    std::string tokens;
    for (const std::string& budget : budgets) append(tokens, budget, " or ");
    result.found.push_back(told("Losses of {} runs of {} encodings, trained on {} tokens each{} ({}).", runs, encodings,
                                tokens, listed(" with ", kept.recipe), kept_runs_file));
    if (budgets.size() > 1)
        result.found.push_back("NOT CONTROLLED: only runs with the same number of tokens are compared.");
    if (!documents)
        result.found.push_back(told("Losses by document are missing ({}): the intervals are over seeds alone, and say "
                                    "nothing about other texts.",
                                    kept_documents_file));
    return std::move(kept.groups);
}

// Empty unless the runs record different types of processor.
std::string processors_sentence(const std::vector<Group>& groups) {
    std::map<std::string, std::size_t> runs;
    for (const Group& group : groups)
        for (const auto& [seed, run] : group.runs) ++runs[run.processor];
    if (runs.size() - runs.contains("") < 2) return "";
    std::string types;
    for (const auto& [type, count] : runs)
        append(types, text(counted(count, "run"), " on ", type.empty() ? "an unrecorded type" : type));
    std::string difference;
    if (const std::optional<ProcessorDifference> found = processor_difference(groups))
        difference = told(" In {} with runs on both, those on {} lose {}{} more than those on {}; an interval contains "
                          "this difference in so far as the shares of the types differ.",
                          counted(found->encodings, "encoding"), found->type, figure(found->mean, 2),
                          margin(half_of(found->error, found->degrees)), found->other);
    return told("Types of processor or of Muon's products differ, and so do the last bits of sums: {}.{}", types,
                difference);
}

// Sorts, names and judges. The second group stands beside the ranking.
std::vector<Group> judge_all(std::vector<Group> groups, const std::string& held, const Request& request,
                             Result& result) {
    std::vector<Group> others = take_others(groups);
    for (std::vector<Group>* some : {&groups, &others}) {
        name_groups(*some);
        std::ranges::stable_sort(*some, {}, &Group::loss); // the lowest loss first
    }
    judge(groups, held, request.quick ? 100 : 1000, result);
    show_others(groups, others, result);
    std::ranges::move(others, std::back_inserter(groups));
    return groups;
}

// The same runs on a second text, if their losses are there: a table and the sentences that judge it.
void add_second_text(const std::filesystem::path& folder, const Request& request, Result& result) {
    std::error_code error;
    if (!std::filesystem::exists(folder / kept_runs_file, error)) return;
    Result second;
    KeptRuns kept = read_kept_runs(folder);
    const std::string held = kept.text.empty() ? "a second text" : kept.text;
    judge_all(take(std::move(kept), second), held, request, second);
    const std::size_t first = second.answer.find(". "); // the end of its first sentence
    result.found.push_back(
        text("On ", held, ": ", second.answer.substr(0, first == second.answer.npos ? first : first + 1)));
    for (std::string& sentence : second.found) result.found.push_back(text("On ", held, ": ", sentence));
    for (NamedFigures& table : second.tables)
        if (table.name == "loss" || table.name == "pairs") {
            table.name = "second-" + table.name;
            result.tables.push_back(std::move(table));
        }
}

void add_runs(const std::vector<Group>& groups, bool measured, Result& result) {
    Figures& runs = result.table("runs", "Each run",
                                 {"file", "encoding", "seed", "tokens", "nll", "more_at_4x", "trunk", "processor"}, 4);
    for (const Group& group : groups)
        for (const auto& [seed, run] : group.runs)
            add_row(runs, run.file, group.spec, seed, run.tokens, run.nll, run.farther, group.trunk, run.processor);
    if (!measured) return;
    Figures& documents =
        result.table("documents", "Each run's nats per token by document", {"file", "document", "tokens", "nll"}, 4);
    for (const Group& group : groups)
        for (const auto& [seed, run] : group.runs)
            for (std::size_t d = 0; d < run.documents.size(); ++d) // rounded, to keep the losses of many runs small
                add_row(documents, run.file, d, run.documents[d].tokens, std::round(run.documents[d].nll * 1e5) / 1e5);
}

Result compare_losses(const Request& request) {
    Result result;
    const bool given = request.arguments.has("model") || request.arguments.has("corpus");
    std::optional<KeptRuns> kept = given ? std::nullopt : find_kept_runs();
    if (!given && !kept)
        result.found.push_back(told("No losses of seed runs were found ({} in bench/results next to the weights). The "
                                    "shipped files are compared instead, with one seed each: chance alone could "
                                    "explain a difference.",
                                    kept_runs_file));
    std::string held = "held-out text";
    std::filesystem::path folder;
    std::vector<Group> groups;
    if (kept) {
        if (!kept->text.empty()) held = kept->text;
        folder = kept->folder;
        groups = take(std::move(*kept), result);
    } else {
        const Text text = held_out(request);
        held = text.name;
        groups = measure_files(request, text, result);
    }
    groups = judge_all(std::move(groups), held, request, result);
    std::set<std::string> remarks{processors_sentence(groups)};
    for (const Group& group : groups)
        for (const auto& [seed, one] : group.runs) remarks.insert(one.why_not);
    remarks.erase("");
    result.found.insert(result.found.end(), remarks.begin(), remarks.end());
    add_runs(groups, !kept, result);
    if (kept) {
        show_predictions(folder, groups, result);
        add_second_text(folder / second_text_folder, request, result);
    }
    result.notes = {
        "nll is the loss of all tokens in windows of the trained length, as in ordo perplexity. minus_none is the "
        "difference from no encoding. more_at_4x is the extra loss of the same last tokens in windows of four times "
        "the trained length; --quick measures a part of each document.",
        "half is the half-width of the 95 % interval: half_seeds from the spread between seeds, half_documents from "
        "the documents of the text, half from both. half and p are of a pair alone; half_minus, half_corrected, "
        "p_corrected and beyond_chance are for all comparisons of a kind. The spread of an encoding is its own or the "
        "pooled one, whichever is larger, with four degrees of freedom more than its own.",
        "bench/seeds.sh (make seeds CORPUS=DIR) trains three seeds of each encoding and keeps their losses in "
        "bench/results. This experiment reads them there without --model and --corpus."};
    return result;
}

// Whether --model names only folders without weights.
bool only_tasks(const Request& request) {
    return std::ranges::all_of(request.arguments.all("model"), [](const std::filesystem::path& path) {
        std::error_code error;
        return std::filesystem::is_directory(path, error) && !tools::holds_weights(path);
    });
}

void add_tasks(const std::vector<std::filesystem::path>& files, Result& result) {
    const GatheredTasks gathered = gather_tasks(files);
    const TaskPlan& plan = gathered.plan;
    result.found.push_back(told("Tasks, from {}: {} of each of {} on {}.", counted(files.size(), "file"),
                                counted(static_cast<std::size_t>(plan.seeds), "seed"),
                                counted(plan.encodings.size(), "encoding"), counted(plan.tasks.size(), "task")));
    if (!gathered.left_out.empty())
        result.found.push_back("Skipped, because not every encoding has it on every task: " + gathered.left_out + ".");
    Result tasks = result_of_tasks(plan, gathered.runs);
    append(result.answer, tasks.answer, " ");
    std::ranges::move(tasks.expected, std::back_inserter(result.expected));
    std::ranges::move(tasks.found, std::back_inserter(result.found));
    std::ranges::move(tasks.tables, std::back_inserter(result.tables));
    std::ranges::move(tasks.pictures, std::back_inserter(result.pictures));
    std::ranges::move(tasks.notes, std::back_inserter(result.notes));
}

Result run(const Request& request) {
    std::vector<std::filesystem::path> files; // that jobs of lab tasks wrote into the folders of --model
    for (const std::filesystem::path folder : request.arguments.all("model"))
        std::ranges::move(task_run_files(folder), std::back_inserter(files));
    Result result;
    if (files.empty() || !only_tasks(request)) result = compare_losses(request);
    if (!files.empty()) add_tasks(files, result);
    return result;
}

} // namespace compare_file

const Experiment compare_experiment{
    .name = "compare",
    .summary = "Which encoding predicts best, by more than chance?",
    .details =
        "Held-out losses of runs with several seeds, from bench/results next to the weights, or from the files of "
        "--model: files of one encoding and several seeds are one group. The answer is the set of encodings that can "
        "be the best. Differences have intervals over seeds and documents, corrected for the number of comparisons. "
        "Files of another size stand beside the ranking, and files with other training are named. Results of lab "
        "tasks in such a folder are joined, too.",
    .options = {"model", "corpus"},
    .seconds = {2, 2},
    .run = compare_file::run};

} // namespace ordo::lab
