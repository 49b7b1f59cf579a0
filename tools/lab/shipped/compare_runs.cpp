// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/compare_runs.h"

#include "tools/cli/inputs.h"
#include "tools/cli/weights.h"
#include "tools/lab/math/numbers.h"
#include "tools/lab/study/csv.h"

#include "core/error.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace ordo::lab {
namespace {

bool same_documents(const Run& a, const Run& b) {
    return std::equal(a.documents.begin(), a.documents.end(), b.documents.begin(), b.documents.end(),
                      [](const DocumentLoss& x, const DocumentLoss& y) { return x.tokens == y.tokens; });
}

std::vector<Group> read_runs(const std::filesystem::path& file) {
    Csv csv(file, {"file", "encoding", "seed", "tokens", "nll", "more_at_4x"});
    std::vector<Group> groups;
    while (csv.next()) {
        const std::string& encoding = csv.text(1);
        auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.spec == encoding; });
        if (group == groups.end()) group = groups.insert(groups.end(), Group{encoding, encoding, {}});
        Run run;
        run.file = csv.text(0);
        run.tokens = csv.text(3);
        run.nll = csv.number<double>(4);
        if (!csv.text(5).empty()) run.farther = csv.number<double>(5);
        if (!group->runs.emplace(csv.text(2), std::move(run)).second)
            csv.refuse("expected each seed of " + printable(encoding) + " once, found " + printable(csv.text(2)) +
                       " again");
    }
    if (groups.empty()) csv.refuse("expected runs, found none");
    return groups;
}

void read_documents(const std::filesystem::path& file, std::vector<Group>& groups) {
    std::map<std::string, Run*> runs;
    for (Group& group : groups)
        for (auto& [seed, run] : group.runs) runs.emplace(run.file, &run);
    Csv csv(file, {"file", "document", "tokens", "nll"});
    while (csv.next()) {
        const auto run = runs.find(csv.text(0));
        if (run == runs.end())
            csv.refuse("expected a file of " + std::string(kept_runs_file) + ", found '" + printable(csv.text(0)) +
                       "'");
        std::vector<DocumentLoss>& documents = run->second->documents;
        if (csv.number<std::size_t>(1) != documents.size())
            csv.refuse("expected document " + std::to_string(documents.size()) + ", found " + printable(csv.text(1)));
        documents.push_back({csv.number<std::int64_t>(2), csv.number<double>(3)});
        if (documents.back().tokens < 1) csv.refuse("expected tokens, found " + printable(csv.text(2)));
    }
}

} // namespace

std::vector<double> Group::values(double Run::*what) const {
    std::vector<double> all;
    for (const auto& [seed, run] : runs)
        if (!std::isnan(run.*what)) all.push_back(run.*what);
    return all;
}

std::optional<Paired> paired(const Group& a, const Group& b) {
    std::vector<double> differences, sums, counts;
    const Run* first = nullptr;
    bool same = true;
    for (const auto& [seed, run] : a.runs) {
        const auto at = b.runs.find(seed);
        if (at == b.runs.end() || at->second.tokens != run.tokens) continue;
        const Run& other = at->second;
        if (!first) first = &run;
        differences.push_back(run.nll - other.nll);
        same = same && same_documents(*first, run) && same_documents(run, other);
        sums.resize(first->documents.size());
        for (std::size_t d = 0; same && d < sums.size(); ++d)
            sums[d] += (run.documents[d].nll - other.documents[d].nll) * static_cast<double>(run.documents[d].tokens);
    }
    if (differences.empty()) return {};
    Paired out{.seeds = static_cast<int>(differences.size()), .by_seed = mean_of(differences), .by_document = {}};
    if (!same || sums.empty()) return out;
    for (double& sum : sums) sum /= out.seeds;
    for (const DocumentLoss& document : first->documents) counts.push_back(static_cast<double>(document.tokens));
    out.documents = static_cast<int>(sums.size());
    out.by_document = mean_of_sums(sums, counts);
    return out;
}

std::vector<std::filesystem::path> kept_folders() {
    std::vector<std::filesystem::path> folders;
    for (const std::filesystem::path& weights : tools::weight_directories())
        folders.push_back(std::filesystem::absolute(weights / ".." / "bench" / "results").lexically_normal());
    return folders;
}

std::string extremes_of(const std::vector<Group>& groups) {
    const auto undecided = [&](const Group& one) {
        std::size_t count = 0;
        for (const Group& other : groups) {
            if (&other == &one) continue;
            std::optional<Paired> pair = paired(one, other);
            if (pair && pair->by_seed.mean < 0) pair = paired(other, one);
            count += !pair || above(pair->interval(), 0) != Verdict::held;
        }
        return count == 0 ? std::string() : text(" (undecided against ", count, " of ", groups.size() - 1, ")");
    };
    if (groups.size() == 1) return text("only ", groups.front().name, " was measured");
    return text(groups.front().name, " loses least", undecided(groups.front()), ", ", groups.back().name, " most",
                undecided(groups.back()));
}

std::optional<KeptRuns> find_kept_runs() {
    std::error_code error;
    for (const std::filesystem::path& folder : kept_folders())
        if (std::filesystem::exists(folder / kept_runs_file, error)) return read_kept_runs(folder);
    return {};
}

KeptRuns read_kept_runs(const std::filesystem::path& folder) {
    KeptRuns kept{folder, {}, read_runs(folder / kept_runs_file)};
    std::error_code error;
    if (std::filesystem::exists(folder / kept_documents_file, error))
        read_documents(folder / kept_documents_file, kept.groups);
    if (std::filesystem::exists(folder / kept_recipe_file, error)) {
        std::istringstream lines(tools::read_input((folder / kept_recipe_file).string(), most_csv));
        std::getline(lines, kept.recipe);
    }
    return kept;
}

} // namespace ordo::lab
