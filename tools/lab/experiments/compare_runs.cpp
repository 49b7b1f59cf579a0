// SPDX-License-Identifier: MIT
#include "tools/lab/experiments/compare_runs.h"

#include "tools/cli/inputs.h"
#include "tools/cli/weights.h"

#include "core/error.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

namespace ordo::lab {
namespace {

constexpr std::size_t most_kept = std::size_t{16} << 20; // bytes

bool same_documents(const Run& a, const Run& b) {
    return std::equal(a.documents.begin(), a.documents.end(), b.documents.begin(), b.documents.end(),
                      [](const DocumentLoss& x, const DocumentLoss& y) { return x.tokens == y.tokens; });
}

// Rows of a CSV file by the names of its columns, RFC 4180 without line breaks in fields.
class Csv {
public:
    Csv(const std::filesystem::path& file, std::initializer_list<std::string_view> columns)
        : name_(printable(file.string())), lines_(tools::read_input(file.string(), most_kept)) {
        next();
        for (const std::string_view column : columns) {
            const auto at = std::find(fields_.begin(), fields_.end(), column);
            if (at == fields_.end()) refuse("expected a column " + std::string(column) + ", found none");
            places_.push_back(static_cast<std::size_t>(at - fields_.begin()));
        }
        width_ = fields_.size();
    }
    // False at the end.
    bool next() {
        std::string line;
        if (!std::getline(lines_, line)) return false;
        ++number_;
        if (line.ends_with('\r')) line.pop_back();
        split(line);
        if (width_ != 0 && fields_.size() != width_)
            refuse("expected " + std::to_string(width_) + " fields, found " + std::to_string(fields_.size()));
        return true;
    }
    const std::string& text(std::size_t column) const { return fields_[places_[column]]; }
    template <class Number>
    Number number(std::size_t column) const {
        const std::string& text = this->text(column);
        Number value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(static_cast<double>(value)))
            refuse("expected a number, found '" + printable(text) + "'");
        return value;
    }
    [[noreturn]] void refuse(const std::string& why) const {
        fail(ErrorCode::usage, name_, ": line ", number_, ": ", why);
    }

private:
    void split(const std::string& line) {
        fields_.assign(1, "");
        bool quoted = false;
        for (std::size_t i = 0; i < line.size(); ++i)
            if (quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"')
                fields_.back() += line[++i];
            else if (line[i] == '"')
                quoted = !quoted;
            else if (line[i] == ',' && !quoted)
                fields_.emplace_back();
            else
                fields_.back() += line[i];
    }

    std::string name_;
    std::istringstream lines_;
    int number_ = 0;
    std::size_t width_ = 0;
    std::vector<std::string> fields_;
    std::vector<std::size_t> places_;
};

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
        std::istringstream lines(tools::read_input((folder / kept_recipe_file).string(), most_kept));
        std::getline(lines, kept.recipe);
    }
    return kept;
}

} // namespace ordo::lab
