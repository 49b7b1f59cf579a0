// SPDX-License-Identifier: MIT
#include "tools/lab/math/numbers.h"
#include "tools/lab/shipped/compare_runs.h"

namespace ordo::lab {
namespace {

// Half the 95 % interval over documents alone.
double half_documents(const Comparison& difference) {
    return half_of(difference.by_document, difference.documents - 1);
}

// The comparisons of a run, in two families.
struct Comparisons {
    Spread spread;
    bool fixed = false; // whether the pairs come from the list
    std::vector<Judged> with_none, pairs;

    explicit Comparisons(const std::vector<Group>& groups)
        : spread(spread_of(groups)), with_none(against_none(groups, spread)),
          pairs(listed_pairs(groups, spread, fixed)) {}
    bool known() const { return spread.degrees > 0; }
    const Judged* find(std::size_t i, std::size_t j) const {
        for (const auto* family : {&with_none, &pairs})
            for (const Judged& one : *family)
                if (std::pair(std::min(one.group, one.other), std::max(one.group, one.other)) == std::pair(i, j))
                    return &one;
        return nullptr;
    }
    std::string decided() const {
        std::size_t decided = 0;
        for (const auto* family : {&with_none, &pairs})
            for (const Judged& one : *family) decided += one.decided();
        return known() ? text(decided, " of ", with_none.size() + pairs.size(),
                              " comparisons differ by more than chance; the others are undecided")
                       : "no encoding has two seeds, so a difference cannot be told from chance";
    }
};

std::string spread_sentence(const Spread& spread) {
    if (spread.degrees == 0) return "Each encoding has one seed: the spread between seeds is not known.";
    return text(
        "Between seeds, losses have a standard deviation of ", figure(spread.deviation, 2), ", pooled over the ",
        counted(spread.groups, "encoding"), " with two seeds or more (", counted(spread.degrees, "degree"),
        " of freedom)",
        std::isnan(spread.p) ? "."
        : spread.p < 0.05
            ? text("; NOT ALIKE: Bartlett's test finds that their spreads differ (p = ", figure(spread.p, 2),
                   "), so some intervals are too narrow.")
            : text("; Bartlett's test finds no difference between their spreads (p = ", figure(spread.p, 2), ")."));
}

// "ahead: rope -0.11 +- 0.02, ...; behind: ...; undecided: ..."
std::string against_none_sentence(const std::vector<Group>& groups, const std::vector<Judged>& all) {
    std::string ahead, behind, undecided;
    for (const Judged& one : all)
        append(!one.decided()            ? undecided
               : one.difference.mean < 0 ? ahead
                                         : behind,
               text(groups[one.group].name, " ", figure(one.difference.mean), margin(one.half)));
    return text("Against none, ", counted(all.size(), "comparison"), all.size() == 1 ? "" : " at once",
                " (Dunnett's test, 5 % for all together)", listed("; ahead: ", ahead), listed("; behind: ", behind),
                listed("; undecided: ", undecided), ".");
}

std::string pairs_sentence(const std::vector<Group>& groups, const Comparisons& all) {
    std::string decided, undecided;
    for (const Judged& one : all.pairs)
        append(one.decided() ? decided : undecided,
               text(groups[one.group].name, " ahead of ", groups[one.other].name, " by ", figure(one.difference.mean),
                    margin(one.half),
                    one.p < 1e-4 ? std::string(" (p < 0.0001)") : text(" (p = ", figure(one.p, 2), ")")));
    return text(counted(all.pairs.size(), "pair"),
                all.fixed ? " of a list that was fixed before their runs" : ", all without none",
                " (Holm's correction, 5 % for all together)", listed("; more than chance: ", decided),
                listed("; undecided: ", undecided), ".");
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
    return text(counted(alike.size(), "encoding"),
                " share their seeds, and so the order of the texts. The test does "
                "not pair runs of one seed: this would narrow an interval only if their losses rose and fell together. "
                "Here their correlation is ",
                figure(correlation, 2), ".");
}

// A row for each pair of encodings, the better one first.
Figures pair_table(const std::vector<Group>& groups, const Comparisons& all) {
    Figures table{{"better", "worse", "nll_less", "half", "p", "p_corrected", "beyond_chance", "seeds_better",
                   "seeds_worse", "documents", "half_seeds", "half_documents"},
                  {},
                  3};
    for (std::size_t i = 0; i < groups.size(); ++i)
        for (std::size_t j = i + 1; j < groups.size(); ++j) {
            const std::optional<Comparison> pair = compare(groups[j], groups[i], all.spread);
            if (!pair) continue;
            add_row(table, groups[i].name, groups[j].name, pair->mean, pair->half(), pair->p(), Cell(), Cell(),
                    pair->others, pair->runs, pair->documents, half_of(pair->by_seed, pair->degrees_of_seeds),
                    half_documents(*pair));
            if (const Judged* judged = all.known() ? all.find(i, j) : nullptr)
                set(table.rows.back(), 5, judged->p, judged->decided());
        }
    return table;
}

// The mean losses, and their differences from the encoding none.
Figures losses(const std::vector<Group>& groups, const Comparisons& all) {
    Figures figures{
        {"encoding", "seeds", "nll", "half", "minus_none", "half_minus", "half_documents", "more_at_4x", "half_more"},
        {},
        3};
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const Vector nll = groups[i].values(&Run::nll), farther = groups[i].values(&Run::farther);
        add_row(figures, groups[i].name, nll.size(), mean_of(nll).mean,
                half_of(all.spread.deviation, all.spread.degrees) / std::sqrt(nll.size()));
        std::vector<Cell>& row = figures.rows.back();
        for (const Judged& one : all.with_none)
            if (one.group == i) set(row, 4, one.difference.mean, one.half, half_documents(one.difference));
        if (!farther.empty()) set(row, 7, mean_of(farther));
    }
    return figures;
}

// "shaw loses least, none most"
std::string extremes_of(const std::vector<Group>& groups) {
    return groups.size() == 1 ? text("only ", groups.front().name, " was measured")
                              : text(groups.front().name, " loses least, ", groups.back().name, " most");
}

// The ranking of the encodings by loss, less that of none, with intervals. Nothing without none.
void add_ranking(std::vector<Picture>& pictures, const std::vector<Group>& groups, const Comparisons& all) {
    if (all.with_none.empty()) return;
    Curves curves;
    Series& one = curves.add("", Series::Style::points);
    const auto add = [&](const std::string& name, double mean, double half) {
        one.add(curves.x_names.size(), mean), one.low.push_back(mean - half), one.high.push_back(mean + half);
        curves.x_names.push_back(name);
    };
    for (std::size_t i = 0; i < groups.size(); ++i) {
        if (groups[i].spec == "none") add(groups[i].name, 0, 0);
        for (const Judged& judged : all.with_none)
            if (judged.group == i) add(groups[i].name, judged.difference.mean, judged.half);
    }
    if (all.known())
        curves.interval = "95 % interval for all comparisons together";
    else
        one.low.clear(), one.high.clear();
    curves.references = {{"no encoding", 0}};
    pictures.push_back({"ranking", text("Loss on held-out text, compared with no encoding: ", extremes_of(groups)),
                        "encoding, the best first", "nats per token more than without an encoding", std::move(curves)});
}

// The extra cost of a row's encoding over a column's encoding.
Picture picture_of(const std::vector<Group>& groups, const Comparisons& all) {
    HeatMap map{.blank = "the same encoding, or another number of tokens", .value_label = "nats per token"};
    for (const Group& row : groups) {
        Vector& values = map.values.emplace_back();
        for (const Group& column : groups) {
            const std::optional<Comparison> pair = &row == &column ? std::nullopt : compare(row, column, all.spread);
            values.push_back(pair ? pair->mean : std::nan(""));
        }
        map.x_names.push_back(row.name);
        map.y_names.push_back(row.name);
    }
    return {"differences",
            text("Loss of a row's encoding less that of a column's: ", extremes_of(groups), "; ", all.decided()),
            "encoding", "encoding", std::move(map)};
}

std::string answer_of(const std::vector<Group>& groups, const Comparisons& all) {
    const auto shown = [](const Group& group) {
        return text(in_text(group.name), " (", figure(group.loss(), 3), " nats per token)");
    };
    if (groups.size() == 1) return text("Only ", shown(groups.front()), " was measured.");
    std::string ahead, behind, pairs;
    for (const Judged& one : all.with_none)
        if (one.decided()) append(one.difference.mean < 0 ? ahead : behind, groups[one.group].name);
    for (const Judged& one : all.pairs)
        if (one.decided()) append(pairs, text(groups[one.group].name, " than ", groups[one.other].name));
    std::string out = text("The best is ", shown(groups.front()), ", the worst ", shown(groups.back()), ".");
    if (!all.known()) return out + " Each encoding has one seed, so chance alone could explain the differences.";
    if (all.with_none.empty())
        return out + (pairs.empty() ? " Chance alone could explain the differences."
                                    : " Better by more than chance: " + pairs + ".");
    if (ahead.empty() && behind.empty()) return out + " Chance alone could explain the differences from no encoding.";
    return out + listed(" Better than no encoding, by more than chance: ", ahead, ".") +
           listed(" Worse: ", behind, ".");
}

} // namespace

void judge(const std::vector<Group>& groups, Result& result) {
    const Comparisons all(groups);
    std::string ranking;
    for (const Group& group : groups) append(ranking, text(group.name, " ", figure(group.loss(), 4)));
    result.found.insert(result.found.begin(), "Nats per token at the trained length, the best first: " + ranking + ".");
    result.answer = answer_of(groups, all);
    result.found.push_back(spread_sentence(all.spread));
    if (std::string shared = seeds_sentence(groups); !shared.empty()) result.found.push_back(std::move(shared));
    if (all.known() && !all.with_none.empty()) result.found.push_back(against_none_sentence(groups, all.with_none));
    if (all.known() && !all.pairs.empty()) result.found.push_back(pairs_sentence(groups, all));
    result.found.push_back("Decided: " + all.decided() + ".");
    add_ranking(result.pictures, groups, all);
    if (groups.size() > 1) result.pictures.push_back(picture_of(groups, all));
    result.tables = {
        {"loss",
         text(extremes_of(groups), ": held-out nats per token, mean over the seeds and half of the 95 % interval"),
         losses(groups, all)},
        {"pairs", all.decided() + ": each two encodings, the better first", pair_table(groups, all)}};
}

} // namespace ordo::lab
