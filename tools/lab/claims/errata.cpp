// SPDX-License-Identifier: MIT
#include "tools/lab/claims/errata.h"

namespace ordo::lab {
namespace errata_file {

struct Claim {
    int number = 0;
    std::map<std::string, std::string> parts; // "text", "fact", ...
    std::string verdict;                      // wrong, right, or partly: right within limits that the fact names
};

std::vector<Claim> read_claims() {
    std::vector<Claim> claims;
    std::istringstream lines{std::string(errata_claims)};
    std::string* last = nullptr;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space == 0) { // a continuation
            *last += line;
        } else if (line[0] >= '0' && line[0] <= '9') {
            claims.push_back({std::stoi(line), {}, line.substr(space + 1)});
        } else {
            last = &claims.back().parts[line.substr(0, space)];
            *last = line.substr(space + 1);
        }
    }
    return claims;
}

// "{0}" is the first figure.
std::string filled(const std::string& sentence, const Values& figures) {
    std::string out;
    for (std::size_t at = 0; at < sentence.size(); ++at)
        if (sentence[at] == '{' && at + 2 < sentence.size() && sentence[at + 2] == '}')
            out += figures.at(static_cast<std::size_t>(sentence[++at] - '0')), ++at;
        else
            out += sentence[at];
    return out;
}

Result run(const Request& request) {
    const std::map<int, Values> evidence = evidence_of(request);
    Figures brief{{"n", "claim", "verdict", "figure_of_this_run"}, {}, -1};
    Figures table{{"number", "where", "claim", "verdict", "fact", "figure_of_this_run", "shown_by"}, {}, -1};
    std::map<std::string, int> verdicts;
    const std::vector<Claim> all = read_claims();
    for (const Claim& one : all) {
        const auto part = [&](const char* name, const std::string& otherwise = {}) {
            const auto found = one.parts.find(name);
            return found == one.parts.end() ? otherwise : found->second;
        };
        const Values& figures = evidence.at(one.number);
        add_row(brief, one.number, part("brief"), one.verdict, filled(part("figure"), figures));
        add_row(table, one.number, part("text"), part("claim", part("brief")), one.verdict, part("fact"),
                filled(part("figures"), figures), part("shown", "-"));
        ++verdicts[one.verdict];
    }
    Result result;
    result.answer =
        text(verdicts["wrong"], " of ", all.size(),
             " doubtful claims in five introductory texts and their code are wrong, and ", verdicts["partly"],
             " hold only within limits. ", verdicts["right"], verdicts["right"] == 1 ? " is" : " are",
             " right. Each claim has its fact and a number of this run below.");
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
    .details = "Every wrong or doubtful claim of five texts with a verdict and a number computed by this run, first in "
               "a line each, then in full with the fact and a command that shows more.",
    .options = {"model", "corpus"},
    .seconds = {5, 3},
    .run = errata_file::run};

} // namespace ordo::lab
