// SPDX-License-Identifier: MIT
// Which rows of the sinusoidal table are near each other: a t-SNE map, and the exact distances that explain it.
#include "tools/lab/encodings.h"
#include "tools/lab/numbers.h"
#include "tools/lab/tsne.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ordo::lab {

namespace {

constexpr int rows = 128, narrow = 8;
constexpr double perplexity = 4;

struct Profile {
    std::vector<double> mean; // by offset; 0 at offset 0
    double spread = 0;        // the most that two distances of one offset differ
};

Profile profile_of(const Table& table) {
    Profile profile{{0}, 0};
    for (std::size_t offset = 1; offset < table.rows.size(); ++offset) {
        double sum = 0, least = HUGE_VAL, most = 0;
        for (std::size_t p = 0; p + offset < table.rows.size(); ++p) {
            const double d = distance(table.rows[p], table.rows[p + offset]);
            sum += d;
            least = std::min(least, d), most = std::max(most, d);
        }
        profile.mean.push_back(sum / static_cast<double>(table.rows.size() - offset));
        profile.spread = std::max(profile.spread, most - least);
    }
    return profile;
}

// How many points have their nearest neighbour at each offset.
template <class Points>
std::map<std::int64_t, std::int64_t> nearest_offsets(const Points& points) {
    std::map<std::int64_t, std::int64_t> counts;
    for (std::size_t p = 0; p < points.size(); ++p) {
        std::size_t best = p == 0 ? 1 : 0;
        for (std::size_t q = 0; q < points.size(); ++q)
            if (q != p && distance(points[p], points[q]) < distance(points[p], points[best])) best = q;
        ++counts[std::abs(static_cast<std::int64_t>(best) - static_cast<std::int64_t>(p))];
    }
    return counts;
}

std::string counts_text(const std::map<std::int64_t, std::int64_t>& counts) {
    std::string text;
    for (const auto& [offset, count] : counts)
        append(text, std::to_string(offset) + " (" + std::to_string(count) + " rows)");
    return text;
}

// Offsets from the nearest to the furthest.
std::vector<std::size_t> by_nearness(const Profile& profile) {
    std::vector<std::size_t> order(profile.mean.size() - 1);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i + 1;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return profile.mean[a] < profile.mean[b]; });
    return order;
}

Picture map_picture(const std::vector<std::array<double, 2>>& points) {
    Curves curves;
    curves.square = true;
    for (std::size_t residue = 0; residue < 6; ++residue) {
        Series& series = curves.series.emplace_back(
            Series{.label = "p mod 6 = " + std::to_string(residue), .style = Series::Style::points});
        for (std::size_t p = residue; p < points.size(); p += 6) {
            series.x.push_back(points[p][0]);
            series.y.push_back(points[p][1]);
        }
    }
    return {"t-sne", "t-SNE of the 128 rows of 8 dimensions: positions that differ by 6 or by 63 stay together",
            "t-SNE 1, no unit", "t-SNE 2, no unit", std::move(curves)};
}

Picture profile_picture(const std::vector<int>& widths, const std::vector<Profile>& profiles) {
    Curves curves;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        Series& series = curves.series.emplace_back(Series{.label = std::to_string(widths[i]) + " dimensions"});
        for (std::size_t offset = 0; offset < profiles[i].mean.size(); ++offset) {
            series.x.push_back(static_cast<double>(offset));
            series.y.push_back(profiles[i].mean[offset] / std::sqrt(static_cast<double>(widths[i])));
        }
    }
    return {"distance", "Distance of two rows by their offset: dips at 6 and 63 with 8 dimensions, none with many",
            "offset, in positions", "distance / sqrt(dimensions)", std::move(curves)};
}

Result run(const Request& request) {
    const std::vector<int> widths{narrow, 64, 512};
    std::vector<Profile> profiles;
    NamedFigures nearest{"nearest",
                         "128 rows: the nearest offsets at several widths",
                         {{"dimensions", "nearest", "distance", "second", "distance of it", "offset 1",
                           "spread within an offset", "nearest row, by offset"},
                          {}}};
    for (const int d : widths) {
        const Table table = sinusoidal_table(d, rows);
        const Profile& profile = profiles.emplace_back(profile_of(table));
        const auto order = by_nearness(profile);
        nearest.figures.rows.push_back({std::int64_t{d}, static_cast<std::int64_t>(order[0]), profile.mean[order[0]],
                                        static_cast<std::int64_t>(order[1]), profile.mean[order[1]], profile.mean[1],
                                        profile.spread, counts_text(nearest_offsets(table.rows))});
    }
    request.progress("t-SNE");
    const auto points = tsne(sinusoidal_table(narrow, rows).rows, perplexity, request.seed);
    const auto in_map = nearest_offsets(points);
    Result result;
    result.expected = {"With 8 dimensions rows are near each other at offset 6, nearly a turn of the fastest pair, and "
                       "at 63, nearly ten turns of it and one of the second pair.",
                       "With many dimensions neighbouring positions are the nearest."};
    const auto order = by_nearness(profiles[0]);
    const auto text = [&](std::size_t offset) { return tools::fixed_text(profiles[0].mean[offset], 4); };
    result.found = {
        "With 8 dimensions the distance depends on the offset alone (it spreads by " + axis_text(profiles[0].spread) +
            "): " + text(1) + " at offset 1, " + text(6) + " at 6, " + text(63) + " at 63; nearest of all is " +
            std::to_string(order[0]) + ", then " + std::to_string(order[1]) + ".",
        "Every row's nearest lies at offset " + counts_text(nearest_offsets(sinusoidal_table(narrow, rows).rows)) +
            "; with 64 dimensions at " + std::to_string(by_nearness(profiles[1])[0]) + ", with 512 at " +
            std::to_string(by_nearness(profiles[2])[0]) + ": the clusters are an artefact of 8 dimensions.",
        "In the t-SNE map a position's nearest neighbour lies at offset " + counts_text(in_map) + "."};
    result.notes = {"t-SNE keeps neighbours, not distances: how far its clusters lie apart means nothing, and another "
                    "--seed gives another map. The exact profile needs none of it."};
    result.tables = {std::move(nearest)};
    result.pictures = {map_picture(points), profile_picture(widths, profiles)};
    return result;
}

} // namespace

extern const Experiment clusters_experiment;
const Experiment clusters_experiment = {
    .name = "clusters",
    .summary = "why t-SNE of the sinusoidal table shows clusters: which positions are near each other",
    .details = "The 128 rows of 8 dimensions placed by exact t-SNE (van der Maaten and Hinton 2008) with perplexity "
               "4, beside the distance of two rows by their offset, with 8, 64 and 512 dimensions.",
    .options = {},
    .seconds = 2,
    .quick_seconds = 2,
    .run = run};

} // namespace ordo::lab
