// SPDX-License-Identifier: MIT
// Does one encoding predict better than another, by more than the difference between seeds?
#include "tools/lab/shipped/compare_runs.h"
#include "tools/lab/shipped/extrapolation.h"
#include "tools/lab/trained/task_runs.h"
#include "tools/model/weights.h"
#include "tools/train/record.h"

#include <system_error>

namespace ordo::lab {
namespace {

constexpr int beyond = 4; // the longer windows, in trained lengths

Run measure(const Trained& trained, const Text& held, const Request& request) {
    const Model model = Model::load(trained.file);
    const std::vector<tools::Document> documents = documents_of(held, model);
    request.progress(trained.name);
    Run run;
    run.file = trained.name;
    const Losses losses = score(model, documents, request.quick ? 4096 : std::numeric_limits<std::size_t>::max());
    run.nll = sample_of(losses.nll).mean();
    std::vector<Sample> samples(documents.size());
    for (std::size_t i = 0; i < losses.nll.size(); ++i) samples[losses.document[i]].add(losses.nll[i]);
    for (const Sample& sample : samples)
        if (sample.count() > 0) run.documents.push_back({sample.count(), sample.mean()});
    WindowPlan plan{{trained.context, beyond * trained.context}};
    plan.short_documents = request.quick;
    const auto longest = static_cast<std::size_t>(plan.lengths.back());
    if (std::none_of(documents.begin(), documents.end(),
                     [&](const tools::Document& document) { return document.tokens.size() >= longest; })) {
        run.why_not = text("Beyond the trained length nothing was measured: no document of ", held.name, " has ",
                           longest, " tokens.");
        return run;
    }
    const Extrapolation far = extrapolate(trained, model, documents, plan, request.progress);
    if (far.last.size() == 2)
        run.farther = sample_of(minus(far.last.at(beyond * trained.context), far.last.at(trained.context))).mean();
    else
        run.why_not = far.refusal;
    return run;
}

void best_first(std::vector<Group>& groups) {
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.loss() < b.loss(); });
}

std::string differing_condition(const tools::ModelFacts& a, const tools::ModelFacts& b) {
    if (to_json(a.blueprint, true) != to_json(b.blueprint, true)) return "blueprint";
    if (const std::string condition = train::differing_condition(a.record, b.record); !condition.empty())
        return condition;
    return a.dtype == b.dtype ? "" : "type of weights";
}

std::vector<Group> measure_all(const Request& request, Result& result) {
    const std::vector<Trained> models = trained_models(request);
    const Text held = held_out(request);
    const tools::ModelFacts first = tools::read_facts(models[0].file);
    std::map<std::string, std::string> unlike; // files by the condition that differs from the first file
    std::vector<Group> groups;
    for (const Trained& trained : models) {
        const tools::ModelFacts facts = tools::read_facts(trained.file);
        if (const std::string other = differing_condition(first, facts); !other.empty())
            append(unlike[other], trained.name);
        Group& group = group_of(groups, trained.encoding);
        const auto seed = facts.record.find("seed");
        // A run without a seed has a key of its own.
        const std::string key = seed == facts.record.end() ? "unknown, " + trained.name : printable(seed->second);
        if (const auto twin = group.runs.find(key); twin != group.runs.end())
            fail(ErrorCode::usage, "lab: compare: ", trained.name, ": ", trained.encoding,
                 ": expected another seed than that of ", twin->second.file, ", found ", key, " again");
        Run run = measure(trained, held, request);
        if (const auto tokens = facts.record.find("tokens"); tokens != facts.record.end())
            run.tokens = printable(tokens->second);
        if (const auto processor = facts.record.find("processor"); processor != facts.record.end())
            run.processor = printable(processor->second);
        group.runs.emplace(key, std::move(run));
    }
    name_groups(groups);
    best_first(groups);
    for (const auto& [condition, names] : unlike)
        result.found.push_back(text("NOT CONTROLLED: ", names, " differ from ", models[0].name, " in ", condition,
                                    "; this alone may explain differences."));
    if (const auto tokens = first.record.find("tokens"); unlike.empty() && tokens != first.record.end())
        result.found.push_back(text("Only the encoding and the seed differ between the ", models.size(),
                                    " files: model, corpus, order by seed and ", printable(tokens->second),
                                    " tokens are the same."));
    return groups;
}

// Uses the losses that bench/seeds.sh kept.
std::vector<Group> take(KeptRuns kept, Result& result) {
    std::set<std::string> budgets;
    std::size_t runs = 0;
    bool documents = true;
    for (const Group& group : kept.groups)
        for (const auto& [seed, run] : group.runs) {
            ++runs;
            budgets.insert(run.tokens);
            documents = documents && !run.documents.empty();
        }
    std::string tokens;
    for (const std::string& budget : budgets) append(tokens, budget, " or ");
    result.found.push_back(text("Losses of ", runs, " runs of ", kept.groups.size(), " encodings, trained on ", tokens,
                                " tokens each", kept.recipe.empty() ? "" : " with " + kept.recipe, " (", kept_runs_file,
                                ")."));
    if (budgets.size() > 1)
        result.found.push_back("NOT CONTROLLED: these runs have seen different numbers of tokens; only runs with the "
                               "same number are compared.");
    if (!documents)
        result.found.push_back(text("Losses by document are missing (", kept_documents_file,
                                    "): the intervals are over seeds alone, and say nothing about other texts."));
    name_groups(kept.groups);
    best_first(kept.groups);
    return std::move(kept.groups);
}

std::string looked_for() {
    std::string folders;
    for (const std::filesystem::path& folder : kept_folders()) append(folders, printable(folder.string()));
    return text(
        "No losses of seed runs were found (", kept_runs_file, " in ", folders,
        "). The shipped files are compared instead, with one seed each: chance alone could explain a difference.");
}

Figures runs(const std::vector<Group>& groups) {
    Figures figures{{"file", "encoding", "seed", "tokens", "nll", "more_at_4x", "processor"}, {}, 4};
    for (const Group& group : groups)
        for (const auto& [seed, run] : group.runs)
            add_row(figures, run.file, group.name, seed, run.tokens, run.nll, run.farther, run.processor);
    return figures;
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
    return "Types of processor differ, and so do the last bits of sums: " + types + ".";
}

// Rounded, to keep the losses of many runs small.
Figures documents(const std::vector<Group>& groups) {
    Figures figures{{"file", "document", "tokens", "nll"}, {}, 4};
    for (const Group& group : groups)
        for (const auto& [seed, run] : group.runs)
            for (std::size_t d = 0; d < run.documents.size(); ++d)
                add_row(figures, run.file, d, run.documents[d].tokens, std::round(run.documents[d].nll * 1e5) / 1e5);
    return figures;
}

Result compare_losses(const Request& request) {
    Result result;
    std::optional<KeptRuns> kept;
    if (!request.arguments.has("model") && !request.arguments.has("corpus")) {
        kept = find_kept_runs();
        if (!kept) result.found.push_back(looked_for());
    }
    const bool measured = !kept;
    const std::vector<Group> groups = measured ? measure_all(request, result) : take(std::move(*kept), result);
    judge(groups, result);
    std::set<std::string> remarks{processors_sentence(groups)};
    for (const Group& group : groups)
        for (const auto& [seed, one] : group.runs) remarks.insert(one.why_not);
    remarks.erase("");
    result.found.insert(result.found.end(), remarks.begin(), remarks.end());
    result.tables.push_back({"runs", "Each run", runs(groups)});
    if (measured) result.tables.push_back({"documents", "Each run's nats per token by document", documents(groups)});
    result.notes = {text("nll is the loss of all tokens in windows of the trained length, as in ordo perplexity. "
                         "minus_none is the difference from no encoding. more_at_4x is the extra loss of the same last "
                         "tokens in windows of four times the trained length",
                         request.quick ? ", on a part of each document if this run measured it." : "."),
                    "half is half of the 95 % interval. half_seeds comes from the spread between seeds, which all "
                    "encodings share, so that a single run has one too. half_documents comes from the documents of the "
                    "text. half combines both. half_minus combines both for all comparisons with none at once. The "
                    "half of nll is of seeds alone, and that of more_at_4x is of the encoding's own seeds.",
                    "p is the probability of such a difference by chance, for this pair alone. p_corrected and "
                    "beyond_chance are of comparisons fixed before their runs: each encoding with none (Dunnett) and "
                    "the pairs of a list (Holm). Other pairs are not judged.",
                    "bench/seeds.sh (make seeds CORPUS=DIR) trains three seeds of each encoding and keeps their losses "
                    "by document in bench/results. This experiment reads them there without --model and --corpus."};
    return result;
}

// The files that jobs of lab tasks wrote into the folders of --model.
std::vector<std::filesystem::path> task_files(const Request& request) {
    std::vector<std::filesystem::path> all;
    for (const std::filesystem::path folder : request.arguments.all("model"))
        for (std::filesystem::path& file : task_run_files(folder)) all.push_back(std::move(file));
    return all;
}

// Whether --model names only folders without weights.
bool only_tasks(const Request& request) {
    const auto given = request.arguments.all("model");
    return std::all_of(given.begin(), given.end(), [](const std::filesystem::path& path) {
        std::error_code error;
        return std::filesystem::is_directory(path, error) && !tools::holds_weights(path);
    });
}

void add_tasks(const std::vector<std::filesystem::path>& files, Result& result) {
    const GatheredTasks gathered = gather_tasks(files);
    const TaskPlan& plan = gathered.plan;
    result.found.push_back(text(
        "Tasks, from ", counted(files.size(), "file"), ": ", counted(static_cast<std::size_t>(plan.seeds), "seed"),
        " of each of ", counted(plan.encodings.size(), "encoding"), " on ", counted(plan.tasks.size(), "task"), "."));
    if (!gathered.left_out.empty())
        result.found.push_back("Skipped, because not every encoding has it on every task: " + gathered.left_out + ".");
    Result tasks = result_of_tasks(plan, gathered.runs);
    const auto move_to = [](auto& to, auto& from) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    };
    append(result.answer, tasks.answer, " ");
    move_to(result.expected, tasks.expected), move_to(result.found, tasks.found);
    move_to(result.tables, tasks.tables), move_to(result.pictures, tasks.pictures);
    move_to(result.notes, tasks.notes);
}

Result run(const Request& request) {
    const std::vector<std::filesystem::path> files = task_files(request);
    Result result;
    if (files.empty() || !only_tasks(request)) result = compare_losses(request);
    if (!files.empty()) add_tasks(files, result);
    return result;
}

} // namespace

const Experiment compare_experiment{
    .name = "compare",
    .summary = "Which encoding predicts best, by more than chance?",
    .details =
        "Held-out losses of runs with several seeds, from bench/results next to the weights, or from the files of "
        "--model: files of one encoding and several seeds are one group. Differences have intervals over seeds, from "
        "the spread of all groups together, and over documents, corrected for the number of comparisons. Files with "
        "other training are named. Results of lab tasks in such a folder are joined, too.",
    .options = {"model", "corpus"},
    .seconds = {2, 2},
    .run = run};

} // namespace ordo::lab
