// SPDX-License-Identifier: MIT
// Simulates studies with as many runs and documents as one at hand, and counts how often their intervals hold.
#include "tools/lab/shipped/compare_runs.h"

namespace ordo::lab {
namespace {

// The standard deviation between the seeds of each group, in one study.
using Deviations = std::function<Vector(const Random&, std::uint64_t&)>;

std::vector<std::pair<std::string, Deviations>> scenarios(const std::vector<Group>& groups, const StudySpread& spread) {
    Vector same(groups.size(), spread.deviation), own = same, wide = same;
    bool single = false;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const Vector nll = groups[i].values(&Run::nll);
        if (nll.size() > 1)
            own[i] = wide[i] = sample_of(nll).deviation();
        else
            wide[i] = 2 * spread.deviation, single = true;
    }
    const auto fixed = [](const Vector& values) { return [values](const Random&, std::uint64_t&) { return values; }; };
    std::vector<std::pair<std::string, Deviations>> out{{"alike", fixed(same)}, {"as observed", fixed(own)}};
    out.emplace_back(text("drawn with ", borrowed_degrees, " degrees of freedom"),
                     [same](const Random& random, std::uint64_t& next) {
                         Vector drawn = same;
                         for (double& deviation : drawn) {
                             double chi_square = 0;
                             for (int i = 0; i < borrowed_degrees; ++i)
                                 chi_square += std::pow(random.normal(next++), 2);
                             deviation *= std::sqrt(borrowed_degrees / chi_square);
                         }
                         return drawn;
                     });
    if (single) out.emplace_back("as observed, and twice that of the others where there is one run", fixed(wide));
    return out;
}

// The true means of a study are equal, so that each difference is an error.
class Study {
public:
    explicit Study(const std::vector<Group>& groups) : groups_(groups), by_document_(groups.size()) {
        const StudySpread spread = spread_of(groups);
        for (Group& group : groups_)
            for (auto& [seed, run] : group.runs) run.documents.clear();
        none_ = static_cast<std::size_t>(std::ranges::find(groups, "none", &Group::spec) - groups.begin());
        if (none_ == groups.size()) none_ = groups.size() - 1; // the worst
        for (std::size_t i = 0; i < groups.size(); ++i)
            for (const std::size_t other : {none_, std::size_t{0}})
                if (const auto pair = compare(groups[i], groups[other], spread))
                    by_document_[i][other == none_ ? 0 : 1] = pair->parts[2];
    }

    void draw(const Vector& deviations, const Random& random, std::uint64_t& next) {
        for (std::size_t i = 0; i < groups_.size(); ++i)
            for (auto& [seed, run] : groups_[i].runs) run.nll = deviations[i] * random.normal(next++);
        spread_ = spread_of(groups_);
        noise_ = {&random, &next};
    }
    bool all_hold() {
        bool hold = true;
        for (std::size_t i = 0; i < groups_.size(); ++i)
            if (i != none_)
                if (const auto one = difference(i, none_, 0))
                    hold = hold && std::abs(one->mean) <= t(one->degrees(), true) * one->error();
        return hold;
    }
    bool best_kept() {
        bool kept = true;
        for (std::size_t i = 1; i < groups_.size(); ++i)
            if (const auto one = difference(i, 0, 1))
                kept = kept && -one->mean <= t(one->degrees(), false) * one->error();
        return kept;
    }

private:
    std::optional<Comparison> difference(std::size_t i, std::size_t other, std::size_t part) {
        std::optional<Comparison> one = compare(groups_[i], groups_[other], spread_);
        if (!one) return one;
        one->parts[2] = by_document_[i][part];
        one->mean += std::sqrt(one->parts[2].square) * noise_.first->normal((*noise_.second)++);
        return one;
    }
    double t(int degrees, bool two_sided) {
        const auto at = critical_.find({degrees, two_sided});
        if (at != critical_.end()) return at->second;
        const std::size_t comparisons = groups_.size() - 1;
        return critical_[{degrees, two_sided}] =
                   two_sided ? critical(degrees, comparisons) : critical_one_sided(degrees, comparisons);
    }

    std::vector<Group> groups_;
    std::size_t none_ = 0;
    std::vector<std::array<ErrorPart, 2>> by_document_; // of differences from none, and from the best
    StudySpread spread_;
    std::pair<const Random*, std::uint64_t*> noise_;
    std::map<std::pair<int, bool>, double> critical_;
};

} // namespace

std::vector<Coverage> simulate(const std::vector<Group>& groups, const StudySpread& spread, int studies,
                               std::uint64_t seed) {
    std::vector<Coverage> out;
    if (spread.degrees == 0 || groups.size() < 2 || studies < 1) return out;
    Study study(groups);
    for (const auto& [name, deviations] : scenarios(groups, spread)) {
        const Random random(seed, 0xc07e + out.size());
        std::uint64_t next = 0;
        int hold = 0, kept = 0;
        for (int i = 0; i < studies; ++i) {
            study.draw(deviations(random, next), random, next);
            hold += study.all_hold(), kept += study.best_kept();
        }
        out.push_back({name, 1.0 * hold / studies, 1.0 * kept / studies});
    }
    return out;
}

} // namespace ordo::lab
