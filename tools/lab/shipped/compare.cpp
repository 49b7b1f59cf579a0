// SPDX-License-Identifier: MIT
// Does one encoding predict better than another, by more than the difference between seeds?
#include "tools/lab/shipped/compare_runs.h"
#include "tools/lab/shipped/extrapolation.h"
#include "tools/lab/trained/task_runs.h"
#include "tools/opening/weights.h"
#include "tools/train/record.h"

#include <system_error>

namespace ordo::lab {
namespace compare_file {

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

// The members of a blueprint: "\"d_ff\":600", ...
std::set<std::string> members_of(const Blueprint& blueprint) {
    const std::string json = to_json(blueprint, true);
    std::set<std::string> members;
    std::string member;
    int depth = 0;
    for (const char c : json.substr(1, json.size() - 2)) {
        depth += (c == '{' || c == '[') - (c == '}' || c == ']');
        if (c == ',' && depth == 0)
            members.insert(std::exchange(member, ""));
        else
            member += c;
    }
    members.insert(member);
    return members;
}

// How a model differs from the first in size or windows: "d_ff 600". Empty: in nothing.
std::string trunk_of(const Blueprint& one, const Blueprint& first) {
    const std::set<std::string> usual = members_of(first);
    std::string out;
    for (std::string member : members_of(one)) {
        if (usual.contains(member)) continue;
        std::erase(member, '"');
        std::ranges::replace(member, ',', ';'); // the list has commas
        append(out, member.replace(member.find(':'), 1, " "));
    }
    return out.empty() && usual != members_of(one) ? "other layers" : out;
}

// The type of products in Muon's steps changes losses as another type of processor does: by rounding.
constexpr const char* muon_products = "recipe.optimizer.products";

std::string differing_condition(tools::ModelFacts a, tools::ModelFacts b) {
    if (a.blueprint.vocab_size != b.blueprint.vocab_size) return "size of the vocabulary";
    if (a.blueprint.context != b.blueprint.context) return "trained context";
    a.record.erase(muon_products), b.record.erase(muon_products);
    if (const std::string condition = train::differing_condition(a.record, b.record); !condition.empty())
        return condition;
    return a.dtype == b.dtype ? "" : "type of weights";
}

// "AMD EPYC with avx512bf16 kernels", and Muon's products unless they are f32; empty: unknown.
std::string arithmetic_of(const Metadata& record) {
    const auto processor = record.find("processor"), muon = record.find(muon_products);
    std::string out = processor == record.end() ? "" : printable(processor->second);
    if (muon != record.end() && muon->second != "f32") append(out, "Muon in " + printable(muon->second), " and ");
    return out;
}

bool one_trunk(const std::vector<Group>& groups) {
    return std::ranges::all_of(groups, [](const Group& group) { return group.trunk.empty(); });
}

std::vector<Group> measure_all(const Request& request, const Text& held, Result& result) {
    const std::vector<Trained> models = trained_models(request);
    const tools::ModelFacts first = tools::read_facts(models[0].file);
    std::map<std::string, std::string> unlike; // files by the condition that differs from the first file
    std::vector<Group> groups;
    for (const Trained& trained : models) {
        const tools::ModelFacts facts = tools::read_facts(trained.file);
        if (const std::string other = differing_condition(first, facts); !other.empty())
            append(unlike[other], trained.name);
        Group& group = group_of(groups, without_defaults(trained.encoding, facts.blueprint.dims()),
                                trunk_of(facts.blueprint, first.blueprint));
        const auto seed = facts.record.find("seed");
        // A run without a seed has a key of its own.
        const std::string key = seed == facts.record.end() ? "unknown, " + trained.name : printable(seed->second);
        if (const auto twin = group.runs.find(key); twin != group.runs.end())
            fail(ErrorCode::usage, "lab: compare: ", trained.name, ": ", trained.encoding,
                 ": expected another seed than that of ", twin->second.file, ", found ", key, " again");
        Run run = measure(trained, held, request);
        if (const auto tokens = facts.record.find("tokens"); tokens != facts.record.end())
            run.tokens = printable(tokens->second);
        run.processor = arithmetic_of(facts.record);
        group.runs.emplace(key, std::move(run));
    }
    for (const auto& [condition, names] : unlike)
        result.found.push_back(text("NOT CONTROLLED: ", names, " differ from ", models[0].name, " in ", condition,
                                    "; this alone may explain differences."));
    if (const auto tokens = first.record.find("tokens"); unlike.empty() && tokens != first.record.end())
        result.found.push_back(text("Only the encoding", one_trunk(groups) ? "" : ", the size, the windows",
                                    " and the seed differ between the ", models.size(),
                                    " files: model, corpus, order by seed and ", printable(tokens->second),
                                    " tokens are the same."));
    return groups;
}

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

Figures runs(const std::vector<Group>& groups) {
    Figures figures{{"file", "encoding", "seed", "tokens", "nll", "more_at_4x", "trunk", "processor"}, {}, 4};
    for (const Group& group : groups)
        for (const auto& [seed, run] : group.runs)
            add_row(figures, run.file, group.spec, seed, run.tokens, run.nll, run.farther, group.trunk, run.processor);
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
    std::string difference;
    if (const std::optional<ProcessorDifference> found = processor_difference(groups))
        difference =
            text(" In ", counted(found->encodings, "encoding"), " with runs on both, those on ", found->type, " lose ",
                 figure(found->mean, 2), margin(half_of(found->error, found->degrees)), " more than those on ",
                 found->other, "; an interval contains this difference in so far as the shares of the types differ.");
    return "Types of processor or of Muon's products differ, and so do the last bits of sums: " + types + "." +
           difference;
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

// Sorts, names and judges. The second group stands beside the ranking.
std::vector<Group> judge_all(std::vector<Group> groups, const std::string& held, const Request& request,
                             Result& result) {
    std::vector<Group> others = take_others(groups);
    for (std::vector<Group>* some : {&groups, &others}) {
        name_groups(*some);
        best_first(*some);
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

Result compare_losses(const Request& request) {
    Result result;
    std::optional<KeptRuns> kept;
    if (!request.arguments.has("model") && !request.arguments.has("corpus")) {
        kept = find_kept_runs();
        if (!kept)
            result.found.push_back(text("No losses of seed runs were found (", kept_runs_file,
                                        " in bench/results next to "
                                        "the weights). The shipped files are compared instead, with one seed each: "
                                        "chance alone could explain a difference."));
    }
    const bool measured = !kept;
    std::string held = measured ? "" : kept->text.empty() ? "held-out text" : kept->text;
    const std::filesystem::path folder = measured ? "" : kept->folder;
    const std::optional<Text> of = measured ? std::optional(held_out(request)) : std::nullopt;
    if (of) held = of->name;
    const std::vector<Group> groups =
        judge_all(of ? measure_all(request, *of, result) : take(std::move(*kept), result), held, request, result);
    std::set<std::string> remarks{processors_sentence(groups)};
    for (const Group& group : groups)
        for (const auto& [seed, one] : group.runs) remarks.insert(one.why_not);
    remarks.erase("");
    result.found.insert(result.found.end(), remarks.begin(), remarks.end());
    result.tables.push_back({"runs", "Each run", runs(groups)});
    if (measured) result.tables.push_back({"documents", "Each run's nats per token by document", documents(groups)});
    if (!measured) {
        show_predictions(folder, groups, result);
        add_second_text(folder / second_text_folder, request, result);
    }
    result.notes = {
        "nll is the loss of all tokens in windows of the trained length, as in ordo perplexity. minus_none is the "
        "difference from no encoding. more_at_4x is the extra loss of the same last tokens in windows of four times "
        "the trained length; --quick measures a part of each document.",
        "half is half of the 95 % interval: half_seeds from the spread between seeds, half_documents from the "
        "documents of the text, half from both. half and p are of a pair alone; half_minus, half_corrected, "
        "p_corrected and beyond_chance are for all comparisons of a kind. The spread of an encoding is its own or the "
        "pooled one, whichever is larger, with four degrees of freedom more than its own.",
        "bench/seeds.sh (make seeds CORPUS=DIR) trains three seeds of each encoding and keeps their losses in "
        "bench/results. This experiment reads them there without --model and --corpus."};
    return result;
}

// The files that jobs of lab tasks wrote into the folders of --model.
std::vector<std::filesystem::path> task_files(const Request& request) {
    std::vector<std::filesystem::path> all;
    for (const std::filesystem::path folder : request.arguments.all("model"))
        std::ranges::move(task_run_files(folder), std::back_inserter(all));
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
    append(result.answer, tasks.answer, " ");
    std::ranges::move(tasks.expected, std::back_inserter(result.expected));
    std::ranges::move(tasks.found, std::back_inserter(result.found));
    std::ranges::move(tasks.tables, std::back_inserter(result.tables));
    std::ranges::move(tasks.pictures, std::back_inserter(result.pictures));
    std::ranges::move(tasks.notes, std::back_inserter(result.notes));
}

Result run(const Request& request) {
    const std::vector<std::filesystem::path> files = task_files(request);
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
