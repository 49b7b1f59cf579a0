// SPDX-License-Identifier: MIT
// Which rows of the sinusoidal table are near each other. A t-SNE map shows it, and exact distances explain it.
#include "tools/lab/math/tsne.h"
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace clusters_file {

constexpr int rows = 128, narrow = 8;
constexpr double perplexity = 4;

struct Profile {
    std::vector<double> mean; // by offset; 0 at offset 0
    double spread = 0;        // the largest difference between two distances of one offset
};

Profile profile_of(const Table& table) {
    Profile profile{{0}, 0};
    for (std::size_t offset = 1; offset < table.rows.size(); ++offset) {
        Sample distances;
        for (std::size_t p = 0; p + offset < table.rows.size(); ++p)
            distances.add(distance(table.rows[p], table.rows[p + offset]));
        profile.mean.push_back(distances.mean());
        profile.spread = std::max(profile.spread, distances.most() - distances.least());
    }
    return profile;
}

// How many points have their nearest neighbour at each offset.
using Counts = std::map<std::int64_t, std::int64_t>;
template <class Points>
Counts nearest_offsets(const Points& points) {
    Counts counts;
    for (std::size_t p = 0; p < points.size(); ++p) {
        std::size_t best = p == 0 ? 1 : 0;
        for (std::size_t q = 0; q < points.size(); ++q)
            if (q != p && distance(points[p], points[q]) < distance(points[p], points[best])) best = q;
        ++counts[std::abs(static_cast<std::int64_t>(best) - static_cast<std::int64_t>(p))];
    }
    return counts;
}

std::string counts_text(const Counts& counts) {
    std::string text;
    for (const auto& [offset, count] : counts)
        append(text, std::to_string(offset) + " (" + std::to_string(count) + " rows)");
    return text;
}

// Coloured by p mod 3: positions that differ by 6 or by 63 share a colour.
Picture map_picture(const std::vector<std::array<double, 2>>& points, const Counts& nearest, std::uint64_t seed) {
    constexpr std::size_t classes = 3;
    Curves curves;
    curves.square = true;
    for (std::size_t residue = 0; residue < classes; ++residue) {
        Series& one = curves.add(text("p mod 3 = ", residue), Series::Style::points);
        for (std::size_t p = residue; p < points.size(); p += classes) {
            one.add(points[p][0], points[p][1]);
            one.names.push_back(std::to_string(p));
        }
    }
    return {
        "t-sne",
        told("t-SNE of the 128 rows of 8 dimensions, seed {}: the nearest row is at offset {}; 6 and 63 are multiples "
             "of 3, so these neighbours share a colour",
             seed, counts_text(nearest)),
        "t-SNE 1, no unit", "t-SNE 2, no unit", std::move(curves)};
}

Picture profile_picture(const std::vector<int>& widths, const std::vector<Profile>& profiles) {
    Curves curves;
    for (std::size_t i = 0; i < widths.size(); ++i) {
        Series& series = curves.add(std::to_string(widths[i]) + " dimensions");
        for (std::size_t offset = 0; offset < profiles[i].mean.size(); ++offset) {
            series.add(offset, profiles[i].mean[offset] / std::sqrt(static_cast<double>(widths[i])));
        }
    }
    Series marks = series("8 dimensions, 6 and 63", Series::Style::points);
    for (const std::size_t offset : {std::size_t{6}, std::size_t{63}}) {
        marks.add(offset, profiles[0].mean[offset] / std::sqrt(static_cast<double>(widths[0])));
        marks.names.push_back(std::to_string(offset));
    }
    curves.series.push_back(std::move(marks));
    return {"distance", "Distance of two rows by their offset: with 8 dimensions, 6 and 63 are nearer than neighbours",
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
        const auto order = ranked(profile.mean); // the first is offset 0
        add_row(nearest.figures, d, order[1], profile.mean[order[1]], order[2], profile.mean[order[2]], profile.mean[1],
                profile.spread, counts_text(nearest_offsets(table.rows)));
    }
    request.progress("t-SNE");
    const auto points = tsne(sinusoidal_table(narrow, rows).rows, perplexity, request.seed);
    const auto in_map = nearest_offsets(points);
    Result result;
    result.expected = {"With 8 dimensions, rows are close to each other at offset 6, nearly a turn of the fastest "
                       "pair, and at 63, nearly ten turns of it and one of the second pair.",
                       "With many dimensions, neighbouring positions are the closest."};
    const auto order = ranked(profiles[0].mean);
    const auto nearest_of = [&](std::size_t i) { return ranked(profiles[i].mean)[1]; };
    result.answer =
        told("With only 8 dimensions, positions {} or {} apart are closest to each other, and t-SNE shows them as "
             "clusters. With 64 and 512 dimensions, the closest are {} and {} apart.",
             order[1], order[2], nearest_of(1), nearest_of(2));
    result.found = {told("In the t-SNE map, the nearest point is at offset {}.", counts_text(in_map)),
                    "One text finds positions 5 and 68 too close to each other: they are 63 apart."};
    result.notes = {"t-SNE keeps neighbours, not distances: the gaps between its clusters mean nothing, and another "
                    "--seed gives another map."};
    result.tables = {std::move(nearest)};
    result.pictures = {map_picture(points, in_map, request.seed), profile_picture(widths, profiles)};
    return result;
}

} // namespace clusters_file

const Experiment clusters_experiment{
    .name = "clusters",
    .summary = "Why does t-SNE of the sinusoidal table show clusters?",
    .details = "The 128 rows of 8 dimensions placed by exact t-SNE (van der Maaten and Hinton 2008) with perplexity 4, "
               "and the distance of two rows by their offset, with 8, 64 and 512 dimensions.",
    .seconds = {2, 2},
    .run = clusters_file::run};

} // namespace ordo::lab
