// SPDX-License-Identifier: MIT
// One figure for many encodings: the loss at each length, less that of no encoding at its trained length.
#include "tools/lab/shipped/extrapolation.h"
#include "tools/lab/study/answers.h"

#include <cctype>

namespace ordo::lab {
namespace {

// Shown without --model, where their files are there: the ends of the field and its newer encodings.
constexpr std::string_view shown[] = {"none", "learned", "rope",       "alibi",           "forget",         "canon",
                                      "path", "wall",    "rope-canon", "relative-logits", "stick-breaking", "pope"};

// The runs of one encoding, which differ by seed.
struct Runs {
    std::string name;
    std::vector<const Extrapolation*> seeds;
};

std::vector<Runs> runs_of(std::span<const Extrapolation> all, bool chosen) {
    std::vector<Runs> out;
    for (const Extrapolation& one : all) {
        if (!chosen && std::ranges::find(shown, one.name) == std::end(shown)) continue;
        const auto same = std::ranges::find_if(out, [&](const Runs& runs) { return runs.seeds[0]->spec == one.spec; });
        if (same == out.end()) {
            out.push_back({one.name, {&one}});
            continue;
        }
        same->seeds.push_back(&one);
        std::string& name = same->name; // "rope-1" and "rope-2" are rope
        const std::size_t end = name.find_last_not_of("0123456789");
        if (end != name.npos && end + 1 < name.size() && name[end] == '-') name.resize(end);
    }
    return out;
}

// The mean of the seeds less the baseline, on the same tokens. The interval has the error over documents and, of
// several seeds, that over seeds.
Mean difference(const Runs& runs, int length, const Vector& baseline) {
    Vector tokens(baseline.size()), seeds;
    for (const Extrapolation* one : runs.seeds) {
        const Vector more = minus(one->last.at(length), baseline);
        for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] += more[i] / static_cast<double>(runs.seeds.size());
        seeds.push_back(sample_of(more).mean());
    }
    Mean mean = mean_of_clusters(tokens, runs.seeds[0]->last_documents);
    if (seeds.size() > 1) mean.half = std::hypot(mean.half, mean_of(seeds).half);
    return mean;
}

} // namespace

void show_frontier(std::span<const Extrapolation> all, bool chosen, Result& result) {
    const std::vector<Runs> runs = runs_of(all, chosen);
    const auto none = std::ranges::find_if(runs, [](const Runs& one) { return one.seeds[0]->encoding == "none"; });
    if (none == runs.end() || !none->seeds[0]->last.contains(none->seeds[0]->context)) return;
    const int trained = none->seeds[0]->context;
    Vector baseline(none->seeds[0]->last.at(trained).size());
    for (const Extrapolation* one : none->seeds)
        for (std::size_t i = 0; i < baseline.size(); ++i)
            baseline[i] += one->last.at(trained)[i] / static_cast<double>(none->seeds.size());

    Curves curves{.references = {{"no encoding at its trained length", 0}}, .log_x = true, .interval = "95 % interval"};
    Figures table{{"encoding", "seeds", "length", "nats_more", "half"}, {}, 3};
    Names names;
    for (const Runs& one : runs) {
        Series curve = series(one.name, Series::Style::line_points);
        for (const auto& [length, last] : one.seeds[0]->last) {
            const auto reaches = [&, length = length](const Extrapolation* seed) {
                return seed->last.contains(length);
            };
            if (length < trained || last.size() != baseline.size() || !std::ranges::all_of(one.seeds, reaches))
                continue;
            const Mean more = difference(one, length, baseline);
            curve.add(length, more.mean, more.low(), more.high());
            add_row(table, one.name, one.seeds.size(), length, more);
        }
        if (curve.x.empty()) continue;
        names.push_back(one.name);
        curves.series.push_back(std::move(curve));
    }
    const double longest = std::ranges::max(curves.series, {}, [](const Series& one) { return one.x.back(); }).x.back();
    std::string flat; // that are no worse at the longest length than none at the trained one
    for (const Series& one : curves.series)
        if (one.x.back() == longest && one.high.back() < 0) append(flat, one.label);
    result.pictures.push_back({"frontier",
                               told("The last tokens of windows up to {}: below no encoding at {} for certain are {}",
                                    longest, trained, or_none(flat)),
                               "window in tokens", told("nats per token more than none at {}", trained),
                               std::move(curves)});
    result.tables.push_back(
        {"frontier-lengths",
         told("Nats per token of the last tokens, less those of none at {}, and half the width of the 95 % "
              "interval over documents, and over seeds where there are several",
              trained),
         std::move(table)});
}

} // namespace ordo::lab
