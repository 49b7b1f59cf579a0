// SPDX-License-Identifier: MIT
// Reads the losses that bench/seeds.sh keeps.
#include "tools/cli/inputs.h"
#include "tools/lab/shipped/compare_runs.h"
#include "tools/lab/study/csv.h"
#include "tools/opening/weights.h"

namespace ordo::lab {
namespace {

std::vector<Group> read_runs(const std::filesystem::path& file) {
    Csv csv(file, {"file", "encoding", "seed", "tokens", "nll", "more_at_4x", "processor"}, {"trunk"});
    std::vector<Group> groups;
    while (csv.next()) {
        const std::string& encoding = csv.text(1);
        Run run;
        run.file = csv.text(0);
        run.tokens = csv.text(3);
        run.nll = csv.number<double>(4);
        if (!csv.text(5).empty()) run.farther = csv.number<double>(5);
        run.processor = csv.text(6);
        if (!group_of(groups, encoding, csv.text(7)).runs.emplace(csv.text(2), std::move(run)).second)
            csv.refuse("expected each seed of " + printable(encoding) + " once, found " + printable(csv.text(2)) +
                       " again");
    }
    if (groups.empty()) csv.refuse("expected runs, found none");
    if (std::ranges::none_of(groups, [](const Group& group) { return group.trunk.empty(); }))
        csv.refuse("expected a run without a trunk, found none");
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

std::vector<std::filesystem::path> kept_folders() {
    std::vector<std::filesystem::path> folders;
    for (const std::filesystem::path& weights : weight_directories())
        folders.push_back(std::filesystem::absolute(weights / ".." / "bench" / "results").lexically_normal());
    return folders;
}

std::optional<KeptRuns> find_kept_runs() {
    std::error_code error;
    for (const std::filesystem::path& folder : kept_folders())
        if (std::filesystem::exists(folder / kept_runs_file, error)) return read_kept_runs(folder);
    return {};
}

KeptRuns read_kept_runs(const std::filesystem::path& folder) {
    KeptRuns kept{folder, {}, {}, read_runs(folder / kept_runs_file)};
    std::error_code error;
    if (std::filesystem::exists(folder / kept_documents_file, error))
        read_documents(folder / kept_documents_file, kept.groups);
    if (std::filesystem::exists(folder / kept_recipe_file, error)) {
        std::istringstream lines(tools::read_input((folder / kept_recipe_file).string(), most_csv));
        std::getline(lines, kept.recipe);
        std::getline(lines, kept.text);
    }
    return kept;
}

} // namespace ordo::lab
