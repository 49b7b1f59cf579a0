// SPDX-License-Identifier: MIT
#include "tools/lab/errata.h"

#include "tools/lab/numbers.h"

#include <algorithm>

namespace ordo::lab {

namespace {

Result run(const Request& request) {
    std::vector<Erratum> all;
    for (const auto& part : {errata_of_tables, errata_of_attention, errata_of_experiments})
        for (Erratum& one : part(request)) all.push_back(std::move(one));
    std::sort(all.begin(), all.end(), [](const Erratum& a, const Erratum& b) { return a.number < b.number; });

    Figures table{{"number", "where", "claim", "fact", "figure_of_this_run", "shown_by"}, {}, -1};
    for (const Erratum& one : all)
        table.rows.push_back({std::int64_t{one.number}, std::string(one.source), std::string(one.claim),
                              std::string(one.fact), one.figure, std::string(one.command)});
    Result result;
    result.found = {text(all.size(), " claims of five introductory texts and of the code beside them were put to the "
                                     "test; each has its fact, a figure of this run and a command that shows more.")};
    result.notes = {"Not all of them are wrong: 3 is right and stronger than said, 7 is right for the score.",
                    "Where code is at fault, what its formula yields was computed by a function of its own beside the "
                    "right one; the code itself is not here. Figures called published are the texts' own."};
    result.tables = {{"claims", "Claims, facts and figures", std::move(table)}};
    return result;
}

constexpr std::string_view heeded[] = {"model", "corpus"};

} // namespace

extern const Experiment errata_experiment;
const Experiment errata_experiment{
    .name = "errata",
    .summary = "which claims of introductory texts on positional encoding do not hold?",
    .details = "Every wrong or doubtful claim of five texts, with the fact, a figure computed by this run, and the "
               "command that shows more.",
    .options = heeded,
    .seconds = 3,
    .quick_seconds = 3,
    .run = run};

} // namespace ordo::lab
