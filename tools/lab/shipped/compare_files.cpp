// SPDX-License-Identifier: MIT
// The losses of the files of --model on a held-out text, and the conditions in which the files differ.
#include "tools/lab/shipped/compare_runs.h"
#include "tools/lab/shipped/extrapolation.h"
#include "tools/opening/weights.h"
#include "tools/train/record.h"

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

// How a model differs from the first in size or windows: "d_ff 600", "windows 64 0 64". Empty: in nothing.
std::string trunk_of(const Blueprint& one, const Blueprint& first) {
    const std::set<std::string> usual = members_of(first);
    std::string out, windows;
    bool other_windows = false;
    for (int i = 0; i < one.n_layers; ++i) {
        append(windows, text(one.layer(i).window), " ");
        other_windows |= one.layer(i).window != first.layer(i).window;
    }
    if (other_windows) out = "windows " + windows;
    for (std::string member : members_of(one)) {
        const bool of_windows = member.starts_with("\"window\"") || member.starts_with("\"layers\"");
        if (usual.contains(member) || (other_windows && of_windows)) continue;
        std::erase(member, '"');
        std::ranges::replace(member, ',', ';'); // the list has commas
        append(out, member.replace(member.find(':'), 1, " "));
    }
    return out.empty() && usual != members_of(one) ? "other layers" : out;
}

// The type of products in Muon's steps and in attention changes losses as another type of processor does: by rounding.
constexpr std::pair<const char*, const char*> rounded_products[] = {{"recipe.optimizer.products", "Muon"},
                                                                    {"recipe.products.attention", "attention"}};

std::string differing_condition(tools::ModelFacts a, tools::ModelFacts b) {
    if (a.blueprint.vocab_size != b.blueprint.vocab_size) return "size of the vocabulary";
    if (a.blueprint.context != b.blueprint.context) return "trained context";
    for (const auto& [key, what] : rounded_products) a.record.erase(key), b.record.erase(key);
    if (const std::string condition = train::differing_condition(a.record, b.record); !condition.empty())
        return condition;
    return a.dtype == b.dtype ? "" : "type of weights";
}

// "AMD EPYC with avx512bf16 kernels", and products of Muon and of attention unless they are f32; empty: unknown.
std::string arithmetic_of(const Metadata& record) {
    const auto processor = record.find("processor");
    std::string out = processor == record.end() ? "" : printable(processor->second);
    for (const auto& [key, what] : rounded_products)
        if (const auto type = record.find(key); type != record.end() && type->second != "f32")
            append(out, text(what, " in ", printable(type->second)), " and ");
    return out;
}

} // namespace

std::vector<Group> measure_files(const Request& request, const Text& held, Result& result) {
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
    const bool one_trunk = std::ranges::all_of(groups, &std::string::empty, &Group::trunk);
    if (const auto tokens = first.record.find("tokens"); unlike.empty() && tokens != first.record.end())
        result.found.push_back(told("Only the encoding{} and the seed differ between the {} files: model, corpus, "
                                    "order by seed and {} tokens are the same.",
                                    one_trunk ? "" : ", the size, the windows", models.size(),
                                    printable(tokens->second)));
    return groups;
}

} // namespace ordo::lab
