// SPDX-License-Identifier: MIT
// Predictions that stood in the repository before their runs, beside the results of these.
#include "tools/lab/math/numbers.h"
#include "tools/lab/shipped/compare_runs.h"
#include "tools/lab/study/csv.h"

#include <system_error>

namespace ordo::lab {
namespace {

constexpr const char* predictions_file = "predictions.csv";

struct Found {
    double mean, half; // NaN: unknown
};

// A trunk in the list is the beginning of a group's.
const Group* find(const std::vector<Group>& groups, const std::string& name, const std::string& trunk,
                  const std::string& tokens) {
    for (const Group& group : groups)
        if ((group.name == name || group.spec == name) && group.trunk.starts_with(trunk) &&
            group.trunk.empty() == trunk.empty() && group.runs.begin()->second.tokens == tokens)
            return &group;
    return nullptr;
}

std::optional<Found> difference(const Group& a, const Group& b, const std::string& measure, const StudySpread& spread) {
    if (measure == "nll") {
        const std::optional<Comparison> found = compare(a, b, spread);
        return found ? std::optional(Found{found->mean, found->half()}) : std::nullopt;
    }
    const Vector one = a.values(&Run::farther), other = b.values(&Run::farther);
    if (one.empty() || other.empty()) return {};
    const Mean x = mean_of(one), y = mean_of(other);
    return Found{x.mean - y.mean, std::hypot(x.half, y.half)};
}

// Inside the predicted range or outside of it; undecided if the interval reaches over its border.
std::string outcome(double predicted, double range, const Found& found) {
    const double off = std::abs(found.mean - predicted);
    if (std::isnan(found.half)) return text(off <= range ? "inside" : "outside", ", without an interval");
    return std::abs(off - range) < found.half ? "undecided" : off < range ? "inside" : "outside";
}

} // namespace

void show_predictions(const std::filesystem::path& folder, const std::vector<Group>& groups, Result& result) {
    std::error_code error;
    if (!std::filesystem::exists(folder / predictions_file, error)) return;
    Csv csv(folder / predictions_file,
            {"date", "encoding", "trunk", "tokens", "against", "measure", "minus", "range", "reason"});
    Figures table{
        {"encoding", "trunk", "against", "measure", "predicted", "range", "found", "half", "outcome", "date", "reason"},
        {},
        3};
    std::map<std::string, std::vector<Group>> budgets; // of other numbers of tokens
    std::size_t run = 0, inside = 0, outside = 0;
    while (csv.next()) {
        const std::string &trunk = csv.text(2), &tokens = csv.text(3), &measure = csv.text(5);
        if (measure != "nll" && measure != "more_at_4x")
            csv.refuse("expected nll or more_at_4x, found '" + printable(measure) + "'");
        const std::filesystem::path own = folder / ("tokens-" + tokens);
        if (!budgets.contains(tokens) && std::filesystem::exists(own / kept_runs_file, error)) {
            name_groups(budgets[tokens] = read_kept_runs(own).groups);
        }
        const std::vector<Group>& among = budgets.contains(tokens) ? budgets.at(tokens) : groups;
        const Group *one = find(among, csv.text(1), trunk, tokens), *other = find(among, csv.text(4), "", tokens);
        const auto predicted = csv.number<double>(6), range = csv.number<double>(7);
        const auto found = one && other ? difference(*one, *other, measure, spread_of(among)) : std::nullopt;
        const std::string verdict = found ? outcome(predicted, range, *found) : "no run";
        const Found shown = found.value_or(Found{NAN, NAN});
        add_row(table, csv.text(1), trunk, csv.text(4), measure, predicted, range, shown.mean, shown.half, verdict,
                csv.text(0), csv.text(8));
        run += found.has_value(), inside += verdict.starts_with("inside"), outside += verdict.starts_with("outside");
    }
    result.found.push_back(text("Of ", table.rows.size(), " predictions that were written before their runs, ", run,
                                " have runs: ", inside, " inside the predicted range, ", outside, " outside, ",
                                run - inside - outside, " undecided (", predictions_file, ")."));
    result.tables.push_back({"predictions",
                             "Predictions from before the runs, and results: the loss of an encoding less that of the "
                             "other, with the half-width of the 95 % interval for one comparison",
                             std::move(table)});
}

} // namespace ordo::lab
