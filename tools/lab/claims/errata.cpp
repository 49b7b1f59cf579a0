// SPDX-License-Identifier: MIT
#include "tools/lab/claims/errata.h"

#include "tools/lab/math/numbers.h"

#include <algorithm>
#include <map>

namespace ordo::lab {

namespace {

Result run(const Request& request) {
    std::vector<Erratum> all;
    for (const auto& part : {errata_of_tables, errata_of_attention, errata_of_experiments})
        for (Erratum& one : part(request)) all.push_back(std::move(one));
    std::sort(all.begin(), all.end(), [](const Erratum& a, const Erratum& b) { return a.number < b.number; });

    Figures brief{{"n", "claim", "verdict", "figure_of_this_run"}, {}, -1};
    Figures table{{"number", "where", "claim", "verdict", "fact", "figure_of_this_run", "shown_by"}, {}, -1};
    std::map<std::string_view, int> verdicts;
    for (const Erratum& one : all) {
        const std::string verdict(one.verdict);
        brief.add(std::int64_t{one.number}, std::string(one.claim.brief), verdict, one.figure.brief);
        table.add(std::int64_t{one.number}, std::string(one.source), std::string(one.claim.whole), verdict,
                  std::string(one.fact), one.figure.whole, std::string(one.command));
        ++verdicts[one.verdict];
    }
    Result result;
    std::string counts;
    for (const auto& [verdict, count] : verdicts) append(counts, text(count, " ", verdict));
    result.found = {text(all.size(),
                         " claims of five introductory texts and of the code beside them were put to the "
                         "test (",
                         counts, "); each has its fact and a figure of this run.")};
    result.notes = {
        "Not all of them are wrong: 3 is right and stronger than said; partly: right within limits that the "
        "fact names, as 7 is for the score.",
        "Where code is at fault, what its formula yields was computed by a function of its own beside the "
        "right one; the code itself is not here. Figures called published are the texts' own."};
    result.tables = {{"lines", "Claims and figures, a line each", std::move(brief)},
                     {"claims", "Claims, facts and figures in full", std::move(table)}};
    return result;
}

constexpr std::string_view options[] = {"model", "corpus"};

} // namespace

extern const Experiment errata_experiment;
const Experiment errata_experiment{
    .name = "errata",
    .summary = "which claims of introductory texts on positional encoding do not hold?",
    .details =
        "Every wrong or doubtful claim of five texts on a line with a verdict and a figure computed by this run; "
        "then in full, with the fact and a command that shows more.",
    .options = options,
    .seconds = 3,
    .quick_seconds = 3,
    .run = run};

} // namespace ordo::lab
