// SPDX-License-Identifier: MIT
// Which encoding predicts better, and by more than another seed would change?
#include "core/error.h"
#include "model/model.h"
#include "tools/cli/weights.h"
#include "tools/lab/experiments/extrapolation.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/math/statistics.h"
#include "tools/train/record.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ordo::lab {

namespace {

constexpr int beyond = 4; // trained lengths of the longer windows

struct Run {
    std::string file, tokens;      // seen in training
    std::string why_not;           // what was not measured
    double nll = 0;                // of all tokens in windows of the trained length
    double farther = std::nan(""); // what the last tokens cost more in windows of 4x that; NaN: not measured
};

// The runs of one encoding, by seed.
struct Group {
    std::string name, spec;
    std::map<std::string, Run> runs;

    Vector values(double Run::*what) const {
        Vector all;
        for (const auto& [seed, run] : runs)
            if (!std::isnan(run.*what)) all.push_back(run.*what);
        return all;
    }
    double loss() const { return mean_of(values(&Run::nll)).mean; }
};

// a's losses minus b's with the same seeds.
Vector by_seed(const Group& a, const Group& b) {
    Vector differences;
    for (const auto& [seed, run] : a.runs)
        if (const auto other = b.runs.find(seed); other != b.runs.end())
            differences.push_back(run.nll - other->second.nll);
    return differences;
}

Run measure(const Trained& trained, const Text& held, const Request& request) {
    const Model model = Model::load(trained.file);
    const std::vector<tools::Document> documents = documents_of(held, model);
    request.progress(trained.name);
    Run run;
    run.file = trained.name;
    run.nll = sample_of(score(model, documents, request.quick ? 4096 : std::numeric_limits<std::size_t>::max())).mean();
    WindowPlan plan{{trained.context, beyond * trained.context}};
    if (request.quick) plan.step = 256, plan.documents = 2;
    const auto longest = static_cast<std::size_t>(plan.lengths.back());
    if (std::none_of(documents.begin(), documents.end(),
                     [&](const tools::Document& document) { return document.tokens.size() >= longest; })) {
        run.why_not = text("Beyond the trained length nothing was measured: no document of ", held.name, " has ",
                           longest, " tokens.");
        return run;
    }
    const Extrapolation far = extrapolate(trained, model, documents, plan, request.progress);
    if (far.last.size() == 2)
        run.farther = difference(far.last.at(beyond * trained.context), far.last.at(trained.context)).mean;
    else
        run.why_not = far.refusal;
    return run;
}

// A name as short as tells the groups apart: rope; rotate-stretch:period=6, or all of a spec if need be.
void name_groups(std::vector<Group>& groups) {
    for (Group& group : groups)
        for (const char* end : {":", ",", "\n"}) {
            group.name = group.spec.substr(0, group.spec.find(*end));
            const auto begins = [&](const Group& other) { return (other.spec + "\n").starts_with(group.name + *end); };
            if (std::count_if(groups.begin(), groups.end(), begins) <= 1) break;
        }
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
    std::map<std::string, std::string> unlike; // files by the condition that sets them apart from the first
    std::vector<Group> groups;
    for (const Trained& trained : models) {
        const tools::ModelFacts facts = tools::read_facts(trained.file);
        if (const std::string other = differing_condition(first, facts); !other.empty()) {
            std::string& names = unlike[other];
            names += (names.empty() ? "" : ", ") + trained.name;
        }
        auto group =
            std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.spec == trained.encoding; });
        if (group == groups.end()) group = groups.insert(groups.end(), Group{{}, trained.encoding, {}});
        const auto seed = facts.record.find("seed");
        // Without one, a run is nobody's pair.
        const std::string key = seed == facts.record.end() ? "unknown, " + trained.name : printable(seed->second);
        if (const auto twin = group->runs.find(key); twin != group->runs.end())
            fail(ErrorCode::usage, "lab: compare: ", trained.name, ": ", trained.encoding,
                 ": expected another seed than that of ", twin->second.file, ", found ", key, " again");
        Run run = measure(trained, held, request);
        if (const auto tokens = facts.record.find("tokens"); tokens != facts.record.end())
            run.tokens = printable(tokens->second);
        group->runs.emplace(key, std::move(run));
    }
    name_groups(groups);
    std::stable_sort(groups.begin(), groups.end(), [](const Group& a, const Group& b) { return a.loss() < b.loss(); });
    for (const auto& [condition, names] : unlike)
        result.found.push_back(text("NOT CONTROLLED: ", names, " differ from ", models[0].name, " in ", condition,
                                    "; what follows may be due to that."));
    if (const auto tokens = first.record.find("tokens"); unlike.empty() && tokens != first.record.end())
        result.found.push_back(text("Only the encoding and the seed differ between the ", models.size(),
                                    " files: model, corpus, order by seed and ", printable(tokens->second),
                                    " tokens are the same."));
    return groups;
}

Cell shown(double value) {
    return std::isnan(value) ? Cell() : Cell(value);
}

// What was found of the ranking, and a row for each pair that has an interval.
Figures judge(const std::vector<Group>& groups, Result& result) {
    std::string ranking;
    for (const Group& group : groups)
        ranking += text(ranking.empty() ? "" : ", ", group.name, " ", figure(group.loss(), 4));
    result.found.push_back("Nats per token at the trained length, the best first: " + ranking + ".");
    Figures pairs{{"better", "worse", "seeds", "nll_less", "half", "beyond_chance"}, {}, 3};
    std::int64_t told_apart = 0;
    for (std::size_t i = 0; i < groups.size(); ++i)
        for (std::size_t j = i + 1; j < groups.size(); ++j) {
            const Vector differences = by_seed(groups[j], groups[i]);
            if (differences.size() < 2) continue;
            const Mean difference = mean_of(differences);
            // Groups of other seeds, too, may rank otherwise than their common ones do.
            const bool swapped = difference.mean < 0;
            const Mean ahead = swapped ? mean_of(by_seed(groups[i], groups[j])) : difference;
            const std::string &better = groups[swapped ? j : i].name, &worse = groups[swapped ? i : j].name;
            told_apart += ahead.low() > 0;
            pairs.add(better, worse, static_cast<std::int64_t>(differences.size()), ahead.mean, ahead.half,
                      ahead.low() > 0);
            if (j == i + 1)
                result.found.push_back(text(better, " is ahead of ", worse, " by ", figure(ahead.mean), " +- ",
                                            figure(ahead.half, 2),
                                            ahead.low() > 0 ? ": more than chance." : ": not told apart."));
        }
    result.found.push_back(
        pairs.rows.empty()
            ? "No two encodings share two seeds: nothing tells a difference from chance."
            : text(told_apart, " of ", pairs.rows.size(), " pairs of encodings differ by more than chance."));
    return pairs;
}

// The means, and what they differ by from no encoding at all.
Figures losses(const std::vector<Group>& groups) {
    const auto none =
        std::find_if(groups.begin(), groups.end(), [](const Group& group) { return group.spec == "none"; });
    Figures figures{{"encoding", "seeds", "nll", "half", "minus_none", "half_minus", "more_at_4x", "half_more"}, {}, 3};
    for (const Group& group : groups) {
        const Vector nll = group.values(&Run::nll), farther = group.values(&Run::farther);
        const Mean mean = mean_of(nll);
        std::vector<Cell> row{
            group.name, static_cast<std::int64_t>(nll.size()), mean.mean, shown(mean.half), {}, {}, {}, {}};
        const auto put = [&](std::size_t at, const Vector& values) {
            if (values.empty()) return;
            const Mean value = mean_of(values);
            row[at] = value.mean;
            row[at + 1] = shown(value.half);
        };
        if (none != groups.end() && none->spec != group.spec) put(4, by_seed(group, *none));
        put(6, farther);
        figures.rows.push_back(std::move(row));
    }
    return figures;
}

Figures runs(const std::vector<Group>& groups) {
    Figures figures{{"file", "encoding", "seed", "tokens", "nll", "more_at_4x"}, {}, 4};
    for (const Group& group : groups)
        for (const auto& [seed, run] : group.runs)
            figures.add(run.file, group.name, seed, run.tokens, run.nll, shown(run.farther));
    return figures;
}

// What the encoding of a row costs more than that of a column.
Picture picture_of(const std::vector<Group>& groups) {
    HeatMap map;
    map.value_label = "nats per token";
    for (const Group& row : groups) {
        Vector& values = map.values.emplace_back();
        for (const Group& column : groups)
            values.push_back(by_seed(row, column).empty() ? std::nan("") : mean_of(by_seed(row, column)).mean);
        map.x_names.push_back(row.name);
        map.y_names.push_back(row.name);
    }
    return {"differences", "What the encoding of a row costs more than that of a column, held-out text", "encoding",
            "encoding", std::move(map)};
}

Result run(const Request& request) {
    Result result;
    const std::vector<Group> groups = measure_all(request, result);
    Figures pairs = judge(groups, result);
    std::set<std::string> refusals;
    for (const Group& group : groups)
        for (const auto& [seed, one] : group.runs)
            if (!one.why_not.empty()) refusals.insert(one.why_not);
    result.found.insert(result.found.end(), refusals.begin(), refusals.end());
    result.tables = {
        {"loss", "Held-out nats per token, mean over the seeds and half of the 95 % interval", losses(groups)},
        {"pairs", "Differences between runs of one seed, the better encoding first", std::move(pairs)},
        {"runs", "Each run", runs(groups)}};
    result.pictures = {picture_of(groups)};
    result.notes = {
        text(
            "nll: ", request.quick ? "4,096 tokens" : "all tokens",
            " in windows of the trained length, as ordo perplexity cuts them. minus_none: against the run "
            "of the same seed without an encoding, which began with the same weights and saw the same text in the same "
            "order. more_at_4x: what the same last tokens of a window cost more when it is four times the trained "
            "length",
            request.quick ? ", in two documents." : "."),
        "The intervals are Student's, over seeds: they say what another seed would give for this text, trunk and "
        "budget, not what another text would. Three seeds make wide ones. Of many pairs that are equal, one in twenty "
        "seems different.",
        "The shipped files are one seed each. make seeds CORPUS=DIR trains three of a smaller budget and compares "
        "them; the README's table has what came of it."};
    return result;
}

constexpr std::string_view taken[] = {"model", "corpus"};

} // namespace

extern const Experiment compare_experiment;
const Experiment compare_experiment{.name = "compare",
                                    .summary = "which encoding predicts better, and by more than chance?",
                                    .details = "Held-out loss of the shipped weight files, or of those that --model "
                                               "names: files of one encoding and several seeds are "
                                               "one group, with intervals, and differences are taken between runs of "
                                               "one seed. Files that were not trained alike "
                                               "are named.",
                                    .options = taken,
                                    .seconds = 90,
                                    .quick_seconds = 15,
                                    .run = run};

} // namespace ordo::lab
