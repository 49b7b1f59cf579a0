// SPDX-License-Identifier: MIT
// Two questions about the runs that bench/seeds.sh keeps of a smaller budget: why 10,000, and adding against
// concatenating.
#include "tools/lab/shipped/compare_runs.h"

#include <cstdlib>

namespace ordo::lab {
namespace base_file {

constexpr const char* folder = "tokens-2000000"; // of bench/results
constexpr const char* missing = "No runs of this kind are recorded beside these weights: TOKENS=2000000 bench/seeds.sh "
                                "trains them.";
constexpr const char* note = "Runs of bench/results/tokens-2000000: models of the shipped size, two million tokens, "
                             "held-out loss in windows of the trained length. more_at_4x: the extra cost of the last "
                             "tokens at 4 times that length. Differences have 95 % intervals over seeds and documents; "
                             "one is undecided if chance alone could explain it among all that the table has.";

std::vector<Group> kept_groups() {
    std::error_code error;
    for (const std::filesystem::path& kept : kept_folders())
        if (std::filesystem::exists(kept / folder / kept_runs_file, error)) return read_kept_runs(kept / folder).groups;
    return {};
}

bool is_of(const Group& group, const std::string& encoding) { // alone, in a model of the first size
    return (group.spec == encoding || group.spec.starts_with(encoding + ":")) &&
           group.spec.find('+') == group.spec.npos && group.trunk.empty();
}

std::string base_text(double base) {
    return tools::grouped(static_cast<std::uint64_t>(base));
}

// The encodings that are asked about, with a number for each.
struct Asked {
    const Group* group;
    std::string name;
    double x;
    double more_at_4x() const { return mean_of(group->values(&Run::farther)).mean; }
};

// A row for each, with its difference from a reference; empty without a difference.
std::string verdict_of(const std::optional<Comparison>& over, std::size_t comparisons) {
    if (!over || !over->known()) return "-";
    return over->p(comparisons) >= 0.05 ? "undecided" : over->mean > 0 ? "worse" : "better";
}
void add_rows(Figures& figures, const std::vector<Asked>& all, const Group* reference, const StudySpread& spread) {
    for (const Asked& one : all) {
        const auto over = one.group == reference || !reference ? std::nullopt : compare(*one.group, *reference, spread);
        add_row(figures, one.name, one.x, one.group->runs.size(), one.group->loss(), over ? over->mean : NAN,
                over ? over->half(all.size() - 1) : NAN, verdict_of(over, all.size() - 1), one.more_at_4x());
    }
}
// The runs of rope or sinusoidal that differ in their base alone, by base.
std::vector<Asked> bases_of(const std::vector<Group>& groups, const std::string& encoding, const std::string& key) {
    std::vector<Asked> all;
    for (const Group& group : groups) {
        if (!is_of(group, encoding) || group.spec.find("columns=") != group.spec.npos ||
            group.spec.find("keep=") != group.spec.npos)
            continue;
        const std::size_t at = group.spec.find(key + "=");
        const double base = at == group.spec.npos ? 10000 : std::strtod(&group.spec[at + key.size() + 1], nullptr);
        all.push_back({&group, encoding, base});
    }
    std::ranges::sort(all, {}, &Asked::x);
    return all;
}

Result run(const Request&) {
    std::vector<Group> groups = kept_groups();
    name_groups(groups);
    const StudySpread spread = spread_of(groups);
    Result result;
    Figures figures{{"encoding", "base", "seeds", "nll", "over_10000", "half", "verdict", "more_at_4x"}, {}, 3};
    Curves near{.log_x = true, .interval = "95 % interval over seeds"}, far{.log_x = true};
    for (const auto& [encoding, key] : {std::pair{"rope", "theta"}, {"sinusoidal", "base"}}) {
        const std::vector<Asked> all = bases_of(groups, encoding, key);
        const auto usual = std::ranges::find(all, 10000, &Asked::x);
        if (all.size() < 2 || usual == all.end()) continue;
        add_rows(figures, all, usual->group, spread);
        Series &here = near.add(encoding, Series::Style::line_points),
               &there = far.add(encoding, Series::Style::line_points);
        std::string better, worse;
        for (const Asked& one : all) {
            const ErrorPart error = error_of_mean(one.group->values(&Run::nll), spread);
            const double loss = one.group->loss(),
                         half = half_of(std::sqrt(error.square), static_cast<int>(error.degrees));
            std::isfinite(half) ? here.add(one.x, loss, loss - half, loss + half) : here.add(one.x, loss);
            there.add(one.x, one.more_at_4x());
            const std::string verdict =
                &one == &*usual ? "" : verdict_of(compare(*one.group, *usual->group, spread), all.size() - 1);
            if (verdict == "better") append(better, base_text(one.x));
            if (verdict == "worse") append(worse, base_text(one.x));
        }
        const std::string differ =
            listed(" These are better: ", better, ".") + listed(" These are worse: ", worse, ".");
        const auto [least, most] = std::ranges::minmax_element(all, {}, &Asked::more_at_4x);
        append(result.answer,
               told("For {}, {} to {} instead of 10,000 {}.{} At 4 times the trained length, its last tokens cost {} "
                    "nats more with 10,000, and {} to {} over all bases (not tested).",
                    encoding, base_text(all.front().x), base_text(all.back().x),
                    differ.empty() ? "changes the loss by no more than chance could" : "changes the loss", differ,
                    figure(usual->more_at_4x(), 2), figure(least->more_at_4x(), 2), figure(most->more_at_4x(), 2)),
               " ");
    }
    result.notes = {note, "The base sets how slow the slowest pair is: it turns once in 2 pi base^(1 - 2/d) positions, "
                          "which should exceed the longest text, while fast pairs tell neighbours apart."};
    if (result.answer.empty()) {
        result.answer = missing;
        return result;
    }
    result.pictures = {{"trained-length", "Loss at the trained length by base", "base", "nats per token", near},
                       {"longer", "Extra loss of the last tokens at 4 times the trained length, by base", "base",
                        "nats per token", far}};
    result.tables = {{"bases", "Encodings that differ in their base alone", std::move(figures)}};
    return result;
}

Result run_concat(const Request&) {
    std::vector<Group> groups = kept_groups();
    name_groups(groups);
    const StudySpread spread = spread_of(groups);
    std::vector<Asked> all;
    const Group* added = nullptr;
    for (const Group& group : groups) {
        if (!is_of(group, "sinusoidal")) continue;
        const std::size_t at = group.spec.find("columns=");
        const double columns = at == group.spec.npos ? 0 : std::strtod(&group.spec[at + 8], nullptr);
        if (columns > 0)
            all.push_back({&group, told("last {} columns", columns), columns});
        else if (group.spec == "sinusoidal" || group.spec.find("base=10000,") != group.spec.npos)
            all.push_back({&group, "added to all columns", 0}), added = &group;
    }
    Result result;
    result.notes = {note,
                    "Concatenating a position vector of K columns to a word vector of d - K columns is the same as "
                    "adding it to a word vector whose last K columns are zero. A matrix after it can separate the "
                    "two or mix them; adding leaves that choice to training."};
    if (all.size() < 2 || !added) {
        result.answer = missing;
        return result;
    }
    std::ranges::sort(all, {}, &Asked::x);
    Figures figures{{"positions", "columns", "seeds", "nll", "over_added", "half", "verdict", "more_at_4x"}, {}, 3};
    add_rows(figures, all, added, spread);
    Curves curves;
    Series& curve = curves.add("columns for positions alone", Series::Style::line_points);
    std::string told_of;
    for (const Asked& one : all) {
        if (one.group == added) continue;
        curve.add(one.x, one.group->loss());
        const auto over = compare(*one.group, *added, spread);
        append(told_of, told("with {} such columns by {}{} nats ({})", one.x, over ? figure(over->mean, 2) : "-",
                             over ? margin(over->half(all.size() - 1)) : "", verdict_of(over, all.size() - 1)));
    }
    curves.references = {{"added to all columns", added->loss()}};
    result.answer = told(
        "If positions are added, the word can use all columns. If they are concatenated, they have columns of their "
        "own. At equal width, this changes the loss {}.",
        told_of);
    if (curve.x.size() > 1)
        result.pictures = {{"losses", "Loss with positions in columns of their own", "columns for positions",
                            "nats per token", curves}};
    result.tables = {
        {"columns", "Sinusoidal positions added to all columns, or alone in the last", std::move(figures)}};
    return result;
}

} // namespace base_file

const Experiment base_experiment{
    .name = "base",
    .summary = "Why 10000? What does another base (theta) do to RoPE?",
    .details =
        "Recorded runs of models that differ in the base alone, from 100 to 10 million: the loss in and beyond the "
        "trained length, with intervals over seeds and documents.",
    .seconds = {1, 1},
    .run = base_file::run};

const Experiment concat_experiment{
    .name = "concat",
    .summary = "Why add positions to words, and not concatenate them?",
    .details =
        "Recorded runs of models of equal width: sinusoidal positions added to all columns, or alone in the last "
        "columns, which the word leaves free.",
    .seconds = {1, 1},
    .run = base_file::run_concat};

} // namespace ordo::lab
