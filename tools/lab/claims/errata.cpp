// SPDX-License-Identifier: MIT
#include "tools/lab/claims/errata.h"

#include "tools/lab/study/cells.h"

namespace ordo::lab {
namespace errata_file {

struct Claim {
    int number = 0;
    std::string verdict, where;               // wrong, right, or partly: right within limits that the fact names
    std::map<std::string, std::string> parts; // "brief", "fact", ...

    std::string part(const char* name, const std::string& otherwise = {}) const {
        const auto found = parts.find(name);
        return found == parts.end() ? otherwise : found->second;
    }
};

std::vector<Claim> read_claims() {
    std::vector<Claim> claims;
    std::istringstream lines{std::string(errata_claims)};
    std::string* last = nullptr;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' '), comma = line.find(", ");
        if (space == 0) { // a continuation
            *last += line;
        } else if (line[0] >= '0' && line[0] <= '9') {
            claims.push_back({std::stoi(line), line.substr(space + 1, comma - space - 1), line.substr(comma + 2), {}});
        } else {
            last = &claims.back().parts[line.substr(0, space)];
            *last = line.substr(space + 1);
        }
    }
    return claims;
}

// "{0}" is the first figure.
std::string filled(std::string sentence, const Values& figures) {
    for (std::size_t i = 0; i < figures.size(); ++i)
        if (const std::size_t at = sentence.find(text("{", i, "}")); at != sentence.npos)
            sentence.replace(at, 3, figures[i]);
    return sentence;
}

Result run(const Request& request) {
    std::map<int, Values> evidence = evidence_of(request);
    std::map<std::string, Result> results;
    // Their quick form; compare from the recorded runs, whatever --model names.
    const auto result_of = [&](const std::string& name) -> const Result& {
        const auto [at, fresh] = results.try_emplace(name);
        if (!fresh) return at->second;
        const char* const plain[] = {name.c_str()};
        const tools::Arguments none(request.arguments.verb(), plain);
        Request its{name == "compare" ? none : request.arguments, request.seed, true, request.progress};
        return at->second = lab::run(find_experiment(name), its);
    };
    Figures brief{{"n", "claim", "verdict", "figure_of_this_run"}, {}, -1};
    Figures table{{"number", "where", "claim", "verdict", "fact", "figure_of_this_run", "shown_by"}, {}, -1};
    std::map<std::string, int> verdicts;
    constexpr int well_known[] = {6, 16, 20}; // wrong ones that many readers meet
    std::string examples;
    const std::vector<Claim> all = read_claims();
    for (const Claim& one : all) {
        const auto told_by = [&](const char* part) {
            return filled(with_cells(one.part(part), result_of), evidence[one.number]);
        };
        const std::string figure = told_by("figure"), more = told_by("more");
        add_row(brief, one.number, one.part("brief"), one.verdict, figure);
        add_row(table, one.number, one.where, one.part("claim", one.part("brief")), one.verdict, one.part("fact"),
                figure + listed("; ", more), one.part("shown", "-"));
        ++verdicts[one.verdict];
        if (std::ranges::count(well_known, one.number))
            append(examples, told("\"{}\"", one.part("claim", one.part("brief"))));
    }
    Result result;
    result.answer = told("{} of {} doubtful claims in five introductory texts and their code are wrong, such as {}. {} "
                         "hold only within limits, and {} is right. Each claim has its fact and a number of this run "
                         "below.",
                         verdicts["wrong"], all.size(), examples, verdicts["partly"], verdicts["right"]);
    result.notes = {"Claim 3 is right, and stronger than the text says. \"Partly\" means right within limits, which "
                    "the fact names.",
                    "For errors in code, a function here computes the wrong formula next to the correct one; the code "
                    "itself is not here. Numbers called published are from the texts."};
    result.tables = {{"lines", "Each claim in a line", std::move(brief)},
                     {"claims", "Each claim with its fact and numbers", std::move(table)}};
    return result;
}

} // namespace errata_file

const Experiment errata_experiment{
    .name = "errata",
    .summary = "Which claims of introductory texts are wrong?",
    .details = "Every wrong or doubtful claim of five texts with a verdict and a number computed by this run, most of "
               "them cells of other experiments with --quick: first in a line each, then in full with the fact and a "
               "command that shows more.",
    .options = {"model", "corpus"},
    .seconds = {12, 12},
    .run = errata_file::run};

} // namespace ordo::lab
