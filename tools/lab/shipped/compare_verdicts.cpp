// SPDX-License-Identifier: MIT
#include "tools/lab/math/numbers.h"
#include "tools/lab/shipped/compare_runs.h"

namespace ordo::lab {
namespace {

// Half the 95 % interval over documents alone, and over seeds alone.
double half_documents(const Comparison& difference) {
    return half_of(difference.by_document(), difference.documents - 1);
}
double half_seeds(const Comparison& difference) {
    return half_of(difference.by_seed(), difference.known() ? satterthwaite({difference.parts.data(), 2}) : 0);
}

// The comparisons of a run, in two families.
struct Comparisons {
    StudySpread spread;
    bool fixed = false; // whether the pairs come from the list
    std::vector<Judged> with_none, pairs, both;
    std::vector<std::size_t> best; // the encodings that can be the best

    explicit Comparisons(const std::vector<Group>& groups)
        : spread(spread_of(groups)), with_none(against_none(groups, spread)),
          pairs(listed_pairs(groups, spread, fixed)), both(with_none), best(can_be_best(groups, spread)) {
        both.insert(both.end(), pairs.begin(), pairs.end());
    }
    bool known() const { return spread.degrees > 0; }
    const Judged* find(std::size_t i, std::size_t j) const {
        for (const Judged& one : both)
            if (std::minmax(one.group, one.other) == std::minmax(i, j)) return &one;
        return nullptr;
    }
    std::string decided() const {
        if (!known()) return "no encoding has two seeds, so a difference cannot be told from chance";
        return told("{} of {} comparisons differ by more than chance; the others are undecided",
                    std::ranges::count_if(both, &Judged::decided), both.size());
    }
};

std::string spread_sentence(const Spread& spread) {
    if (spread.degrees == 0) return "Each encoding has one seed: the spread between seeds is not known.";
    return told("Between seeds, losses have a standard deviation of {}, pooled over the {} with two seeds or more ({} "
                "of freedom). An interval assumes this or the encoding's own, whichever is larger.",
                figure(spread.deviation, 2), counted(static_cast<std::size_t>(spread.groups), "encoding"),
                counted(static_cast<std::size_t>(spread.degrees), "degree"));
}

// Whether losses of one seed rise and fall together, if encodings share their seeds: their mean correlation.
std::string seeds_sentence(const std::vector<Group>& groups) {
    std::vector<const Group*> alike; // with the seeds of the first that has several
    const auto same_seeds = [](const Group& a, const Group& b) {
        return std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), b.runs.end(),
                          [](const auto& x, const auto& y) { return x.first == y.first; });
    };
    for (const Group& group : groups)
        if (group.runs.size() > 1 && (alike.empty() || same_seeds(*alike[0], group))) alike.push_back(&group);
    if (alike.size() < 2) return {};
    std::map<std::string, double> of_seed; // sums of the deviations from the mean of their encoding
    double squares = 0, shared = 0;
    for (const Group* group : alike)
        for (const auto& [seed, run] : group->runs) {
            const double deviation = run.nll - group->loss();
            of_seed[seed] += deviation, squares += deviation * deviation;
        }
    if (squares == 0) return {};
    for (const auto& [seed, sum] : of_seed) shared += sum * sum;
    const double correlation = (shared - squares) / (static_cast<double>(alike.size() - 1) * squares);
    return told("{} share their seeds, and so the order of the texts. The test does not pair runs of one seed: this "
                "would narrow an interval only if their losses rose and fell together. Here their correlation is {}.",
                counted(alike.size(), "encoding"), figure(correlation, 2));
}

// "the best is one of shaw, rope"
std::string headline(const std::vector<Group>& groups, const Comparisons& all) {
    if (groups.size() == 1) return text("only ", groups.front().name, " was measured");
    if (!all.known()) return text("the lowest is ", groups.front().name, ", the highest ", groups.back().name);
    std::string names;
    for (const std::size_t i : all.best) append(names, groups[i].name);
    return text("the best is ", all.best.size() == 1 ? "" : "one of ", names);
}

// The mean losses, and their differences from the encoding none.
void add_losses(Result& result, const std::vector<Group>& groups, const Comparisons& all, const std::string& held) {
    Figures& figures =
        result.table("loss",
                     told("{}, {}: nats per token, mean over the seeds and half-width of the 95 % interval", held,
                          headline(groups, all)),
                     {"encoding", "seeds", "nll", "half", "minus_none", "half_minus", "half_documents", "more_at_4x",
                      "half_more", "can_be_best"},
                     3);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const Vector nll = groups[i].values(&Run::nll), farther = groups[i].values(&Run::farther);
        const ErrorPart error = error_of_mean(nll, all.spread);
        add_row(figures, groups[i].name, nll.size(), groups[i].loss(),
                half_of(std::sqrt(error.square), static_cast<int>(error.degrees)));
        std::vector<Cell>& row = figures.rows.back();
        for (const Judged& one : all.with_none)
            if (one.group == i) set(row, 4, one.difference.mean, one.half, half_documents(one.difference));
        if (!farther.empty()) set(row, 7, mean_of(farther));
        if (all.known()) set(row, 9, std::ranges::find(all.best, i) != all.best.end());
    }
}

// A row for each pair of encodings, the better one first.
void add_pairs(Result& result, const std::vector<Group>& groups, const Comparisons& all, const std::string& held) {
    Figures& table =
        result.table("pairs", told("{}, {}: each two encodings, the better first", held, all.decided()),
                     {"better", "worse", "nll_less", "half", "p", "half_corrected", "p_corrected", "beyond_chance",
                      "seeds_better", "seeds_worse", "documents", "half_seeds", "half_documents"},
                     3);
    for (std::size_t i = 0; i < groups.size(); ++i)
        for (std::size_t j = i + 1; j < groups.size(); ++j) {
            const std::optional<Comparison> pair = compare(groups[j], groups[i], all.spread);
            if (!pair) continue;
            add_row(table, groups[i].name, groups[j].name, pair->mean, pair->half(), pair->p(), Cell(), Cell(), Cell(),
                    pair->others, pair->runs, pair->documents, half_seeds(*pair), half_documents(*pair));
            if (const Judged* judged = all.known() ? all.find(i, j) : nullptr)
                set(table.rows.back(), 5, judged->half, judged->p, judged->decided());
        }
}

// The ranking of the encodings by loss, less that of none, with intervals. Nothing without none.
void add_ranking(Result& result, const std::vector<Group>& groups, const Comparisons& all, const std::string& held) {
    if (all.with_none.empty()) return;
    Curves curves{.references = {{"no encoding", 0}}};
    if (all.known()) curves.interval = "95 % interval for all comparisons together";
    Series& one = curves.add("", Series::Style::points);
    const auto add = [&](const std::string& name, double mean, double half) {
        const double at = static_cast<double>(curves.x_names.size());
        all.known() ? one.add(at, mean, mean - half, mean + half) : one.add(at, mean);
        curves.x_names.push_back(name);
    };
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].spec == "none") add(groups[i].name, 0, 0);
        for (const Judged& judged : all.with_none)
            if (judged.group == i) add(groups[i].name, judged.difference.mean, judged.half);
    }
    result.pictures.push_back({"ranking", told("Loss on {}, compared with no encoding", held),
                               "encoding, the lowest loss first", "nats per token more than without an encoding",
                               std::move(curves)});
}

// The extra cost of a row's encoding over a column's encoding.
void add_differences(Result& result, const std::vector<Group>& groups, const Comparisons& all) {
    if (groups.size() < 2) return;
    HeatMap map{.blank = "the same encoding, or another number of tokens", .value_label = "nats per token"};
    for (const Group& row : groups) {
        Vector& values = map.values.emplace_back();
        for (const Group& column : groups) {
            const std::optional<Comparison> pair = &row == &column ? std::nullopt : compare(row, column, all.spread);
            values.push_back(pair ? pair->mean : std::nan(""));
        }
        map.x_names.push_back(row.name);
    }
    map.y_names = map.x_names;
    result.pictures.push_back(
        {"differences",
         told("Loss of a row's encoding less that of a column's: {}; {}", headline(groups, all), all.decided()),
         "encoding", "encoding", std::move(map)});
}

std::string answer_of(const std::vector<Group>& groups, const Comparisons& all) {
    constexpr std::size_t few_names = 6; // the picture has all
    std::string out = headline(groups, all), ahead, behind, pairs;
    std::size_t better = 0;
    out[0] = out[0] == 'o' ? 'O' : 'T';
    if (groups.size() == 1) return out + ", so nothing can be compared.";
    if (!all.known()) return out + ". Each encoding has one seed, so chance alone could explain the differences.";
    out += " (95 %, Hsu's comparison with the best).";
    for (const Judged& one : all.with_none)
        if (one.decided()) {
            append(one.difference.mean < 0 ? ahead : behind, groups[one.group].name);
            better += one.difference.mean < 0;
        }
    if (better > few_names) ahead = text(better, " of ", all.with_none.size());
    for (const Judged& one : all.pairs)
        if (one.decided()) append(pairs, text(groups[one.group].name, " than ", groups[one.other].name));
    if (all.with_none.empty())
        return out + (pairs.empty() ? " Chance alone could explain the differences."
                                    : " Better by more than chance: " + pairs + ".");
    if (ahead.empty() && behind.empty()) return out + " Chance alone could explain the differences from no encoding.";
    return out + listed(" Better than no encoding, by more than chance: ", ahead, ".") +
           listed(" Worse: ", behind, ".");
}

} // namespace

void judge(const std::vector<Group>& groups, const std::string& name, int studies, Result& result) {
    const Comparisons all(groups);
    result.answer = answer_of(groups, all);
    result.found.push_back(spread_sentence(all.spread));
    if (std::string shared = seeds_sentence(groups); !shared.empty()) result.found.push_back(std::move(shared));
    if (all.known() && !all.pairs.empty() && all.fixed)
        result.found.push_back(told("{} of a fixed list ({}) and {} with none are judged, each kind with Bonferroni's "
                                    "correction, 5 % for all of it.",
                                    counted(all.pairs.size(), "pair"), list_dates,
                                    counted(all.with_none.size(), "comparison")));
    result.found.push_back("Decided: " + all.decided() + ".");
    add_ranking(result, groups, all, name);
    add_differences(result, groups, all);
    add_losses(result, groups, all, name);
    add_pairs(result, groups, all, name);
    const std::vector<Coverage> coverage = simulate(groups, all.spread, studies, 1);
    if (coverage.empty()) return;
    Figures& simulated = result.table("coverage",
                                      "Simulated studies: the share in which all intervals of differences from none "
                                      "hold, and in which the best is among those that can be",
                                      {"spread", "studies", "all_hold", "best_kept"}, 3);
    for (const Coverage& one : coverage) add_row(simulated, one.spread, studies, one.all_hold, one.best_kept);
}

void show_others(const std::vector<Group>& groups, const std::vector<Group>& others, Result& result) {
    if (others.empty()) return;
    Figures& table =
        result.table("beside", "Models of another size or with other windows, which are not ranked",
                     {"encoding", "trunk", "seeds", "nll", "minus_none", "half_minus", "minus_same", "half_same"}, 3);
    const StudySpread spread = spread_of(groups);
    for (const Group& other : others) {
        add_row(table, other.name, other.trunk, other.runs.size(), other.loss());
        std::size_t column = 4;
        for (const std::string& spec : {std::string("none"), other.spec}) {
            const auto at = std::ranges::find(groups, spec, &Group::spec);
            if (const auto pair = at == groups.end() ? std::nullopt : compare(other, *at, spread))
                set(table.rows.back(), column, pair->mean, pair->half());
            column += 2;
        }
    }
    result.found.push_back(told("{} of another size or other windows stand beside the ranking (table beside); their "
                                "intervals are for one comparison each.",
                                counted(others.size(), "row")));
}

} // namespace ordo::lab
