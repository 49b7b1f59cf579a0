// SPDX-License-Identifier: MIT
#include "tools/lab/shipped/compare_runs.h"

#include "encoding/base/model_encodings.h"

namespace ordo::lab {
namespace {

// Pairs that the texts and the encodings' papers compare: Vaswani et al., Shaw et al., Su et al., Press et al., Sun et
// al., Chi et al. (two papers), Li et al., Golovneva et al., Lin et al., and the model card of gpt-oss.
constexpr const char* fixed_pairs[][2] = {
    {"learned", "sinusoidal"}, {"shaw", "sinusoidal"}, {"rope", "sinusoidal"}, {"rope", "learned"},
    {"alibi", "sinusoidal"},   {"alibi", "rope"},      {"alibi", "t5"},        {"xpos", "rope"},
    {"kerple", "alibi"},       {"fire", "t5"},         {"cope", "rope"},       {"forget", "rope"},
    {"sandwich", "alibi"},     {"sink+rope", "rope"}};

bool same_documents(const Run& a, const Run& b) {
    return std::equal(a.documents.begin(), a.documents.end(), b.documents.begin(), b.documents.end(),
                      [](const DocumentLoss& x, const DocumentLoss& y) { return x.tokens == y.tokens; });
}

// A spec with the parameters that keep(name, "key=value") wants; a sum or pattern without parentheses around a single
// name: pattern(rope,none).
template <class Keep>
std::string reduced(const std::string& spec, const Keep& keep) {
    std::string out;
    for (std::size_t at = 0; at < spec.size();) {
        if (spec[at++] != ':') {
            out += spec[at - 1];
            continue;
        }
        const std::string name = out.substr(out.find_last_of("(,+") + 1);
        char before = ':';
        for (bool more = true; more;) { // key=value{,key=value}
            const std::size_t end = std::min(spec.find_first_of(",)+", at), spec.size());
            const std::size_t next = std::min(spec.find_first_of(",)+(:", end + 1), spec.size());
            if (const std::string parameter = spec.substr(at, end - at); keep(name, parameter)) {
                out += before + parameter;
                before = ',';
            }
            more = end < spec.size() && spec[end] == ',' && spec.substr(end, next - end).find('=') != spec.npos;
            at = more ? end + 1 : end;
        }
    }
    for (std::size_t open = out.find('('); open != out.npos; open = out.find('(', open + 1)) {
        const std::size_t close = out.find_first_of("(),+", open + 1);
        const bool own = open > 0 && (out[open - 1] == '(' || out[open - 1] == ',');
        if (own && close != out.npos && out[close] == ')') out.erase(close, 1), out.erase(open, 1);
    }
    return out;
}

// "rope" for "rope:theta=10".
std::string without_parameters(const std::string& spec) {
    return reduced(spec, [](const std::string&, const std::string&) { return false; });
}

// The share of runs that would have to change their type of processor to make two groups alike in it, 0 to 1.
double processors_apart(const Group& a, const Group& b) {
    std::map<std::string, double> shares;
    for (const Group* group : {&a, &b})
        for (const auto& [seed, run] : group->runs)
            shares[run.processor] += (group == &a ? 1.0 : -1.0) / static_cast<double>(group->runs.size());
    double apart = 0;
    for (const auto& [type, share] : shares) apart += std::abs(share) / 2;
    return apart;
}

} // namespace

std::string without_defaults(const std::string& spec, const Dims& dims) {
    return reduced(spec, [&](const std::string& name, const std::string& parameter) {
        const std::string defaults = ModelEncodings(name, dims).spec() + ",";
        return defaults.find(":" + parameter + ",") == defaults.npos &&
               defaults.find("," + parameter + ",") == defaults.npos;
    });
}

Group& group_of(std::vector<Group>& groups, const std::string& spec, const std::string& trunk) {
    for (Group& group : groups)
        if (group.spec == spec && group.trunk == trunk) return group;
    return groups.emplace_back(Group{spec, spec, {}, trunk});
}

std::vector<Group> take_others(std::vector<Group>& groups) {
    const auto others =
        std::stable_partition(groups.begin(), groups.end(), [](const Group& group) { return group.trunk.empty(); });
    std::vector<Group> taken(std::make_move_iterator(others), std::make_move_iterator(groups.end()));
    groups.erase(others, groups.end());
    return taken;
}

std::vector<double> Group::values(double Run::*what) const {
    std::vector<double> all;
    for (const auto& [seed, run] : runs)
        if (!std::isnan(run.*what)) all.push_back(run.*what);
    return all;
}

void name_groups(std::vector<Group>& groups) {
    for (Group& group : groups) {
        const std::string bare = without_parameters(group.spec);
        const auto same = [&](const Group& other) { return without_parameters(other.spec) == bare; };
        group.name = std::count_if(groups.begin(), groups.end(), same) == 1 ? bare : group.spec;
    }
}

double Comparison::half(std::size_t comparisons) const {
    return known() ? critical(degrees(), comparisons) * error() : std::nan("");
}

double Comparison::p(std::size_t comparisons) const {
    return known() ? std::min(1.0, student_beyond(mean / error(), degrees()) * static_cast<double>(comparisons))
                   : std::nan("");
}

bool Comparison::above_one_sided(std::size_t comparisons) const {
    return known() && mean > critical_one_sided(degrees(), comparisons) * error();
}

std::optional<Comparison> compare(const Group& a, const Group& b, const StudySpread& spread) {
    const Run& first = a.runs.begin()->second;
    Comparison out{.runs = static_cast<int>(a.runs.size()), .others = static_cast<int>(b.runs.size())};
    std::vector<double> sums(first.documents.size()), counts;
    bool same = sums.size() > 1; // one document says nothing about others
    for (const Group* group : {&a, &b}) {
        const double share = (group == &a ? 1.0 : -1.0) / static_cast<double>(group->runs.size());
        for (const auto& [seed, run] : group->runs) {
            if (run.tokens != first.tokens) return {};
            out.mean += share * run.nll;
            same = same && same_documents(first, run);
            for (std::size_t d = 0; same && d < sums.size(); ++d)
                sums[d] += share * run.documents[d].nll * static_cast<double>(run.documents[d].tokens);
        }
        out.parts[group == &b] = error_of_mean(group->values(&Run::nll), spread);
    }
    out.parts[0].square += std::pow(spread.processors * processors_apart(a, b), 2);
    out.parts[2] = {0, 1};
    if (!same) return out;
    for (const DocumentLoss& document : first.documents) counts.push_back(static_cast<double>(document.tokens));
    out.documents = static_cast<int>(sums.size());
    out.parts[2] = {std::pow(error_of_sums(sums, counts), 2), out.documents - 1.0};
    return out;
}

std::optional<ProcessorDifference> processor_difference(const std::vector<Group>& groups) {
    struct Sums {
        std::size_t encodings = 0;
        double weight = 0, weighted = 0;
    };
    std::map<std::pair<std::string, std::string>, Sums> pairs; // of types
    std::vector<Vector> alike;                                 // of one type, too: their spread is that of seeds alone
    for (const Group& group : groups) {
        std::map<std::string, std::map<std::string, Vector>> of_tokens; // by budget and type
        for (const auto& [seed, run] : group.runs)
            if (!run.processor.empty()) of_tokens[run.tokens][run.processor].push_back(run.nll);
        for (const auto& [tokens, losses] : of_tokens)
            for (auto one = losses.begin(); one != losses.end(); ++one) {
                alike.push_back(one->second);
                for (auto two = std::next(one); two != losses.end(); ++two) {
                    const Sample a = sample_of(one->second), b = sample_of(two->second);
                    const double weight =
                        static_cast<double>(a.count() * b.count()) / static_cast<double>(a.count() + b.count());
                    Sums& sums = pairs[{one->first, two->first}];
                    ++sums.encodings, sums.weight += weight, sums.weighted += weight * (b.mean() - a.mean());
                }
            }
    }
    const auto most = std::ranges::max_element(pairs, {}, [](const auto& pair) { return pair.second.encodings; });
    const Spread spread = pooled_spread(alike);
    if (most == pairs.end() || spread.degrees == 0) return {};
    const auto& [types, sums] = *most;
    const double error = spread.deviation / std::sqrt(sums.weight);
    return ProcessorDifference{types.second, types.first,   sums.encodings, sums.weighted / sums.weight,
                               error,        spread.degrees};
}

StudySpread spread_of(const std::vector<Group>& groups) {
    std::vector<Vector> values;
    for (const Group& group : groups) {
        std::map<std::string, Vector> of_tokens;
        for (const auto& [seed, run] : group.runs) of_tokens[run.tokens].push_back(run.nll);
        for (auto& [tokens, nll] : of_tokens) values.push_back(std::move(nll));
    }
    const std::optional<ProcessorDifference> processors = processor_difference(groups);
    return {pooled_spread(values), processors ? std::hypot(processors->mean, processors->error) : 0};
}

namespace {

void correct(std::vector<Judged>& all) {
    for (Judged& one : all) one.half = one.difference.half(all.size()), one.p = one.difference.p(all.size());
}

} // namespace

std::vector<Judged> against_none(const std::vector<Group>& groups, const StudySpread& spread) {
    const auto none = std::ranges::find(groups, "none", &Group::spec);
    std::vector<Judged> out;
    for (std::size_t i = 0; none != groups.end() && i < groups.size(); ++i)
        if (groups[i].spec != "none")
            if (const std::optional<Comparison> difference = compare(groups[i], *none, spread))
                out.push_back({i, static_cast<std::size_t>(none - groups.begin()), *difference});
    correct(out);
    return out;
}

std::vector<Judged> listed_pairs(const std::vector<Group>& groups, const StudySpread& spread, bool& fixed) {
    // A pair names encodings as they are by default, if they have runs: rope and not rope:keep=0.5.
    const auto named = [&](const Group& group) {
        const std::string bare = without_parameters(group.spec);
        return std::ranges::find(groups, bare, &Group::spec) == groups.end() ? bare : group.spec;
    };
    std::vector<Judged> listed, all;
    for (std::size_t i = 0; i < groups.size(); ++i)
        for (std::size_t j = i + 1; j < groups.size(); ++j) {
            const std::string a = named(groups[i]), b = named(groups[j]);
            const std::optional<Comparison> difference = compare(groups[j], groups[i], spread);
            if (!difference || a == "none" || b == "none") continue;
            const bool on_list = std::any_of(std::begin(fixed_pairs), std::end(fixed_pairs), [&](const auto& pair) {
                return (a == pair[0] && b == pair[1]) || (a == pair[1] && b == pair[0]);
            });
            (on_list ? listed : all).push_back({i, j, *difference});
        }
    fixed = !listed.empty();
    std::vector<Judged> out = fixed ? listed : all;
    correct(out);
    return out;
}

std::vector<std::size_t> can_be_best(const std::vector<Group>& groups, const StudySpread& spread) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < groups.size(); ++i)
        if (std::ranges::none_of(groups, [&](const Group& other) {
                const auto more = &other == &groups[i] ? std::nullopt : compare(groups[i], other, spread);
                return more && more->above_one_sided(groups.size() - 1);
            }))
            out.push_back(i);
    return out;
}

} // namespace ordo::lab
