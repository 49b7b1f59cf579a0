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
Picture map_picture(const std::vector<std::array<double, 2>>& points, const std::string& nearest, std::uint64_t seed) {
    Curves curves{.square = true};
    for (std::size_t residue = 0; residue < 3; ++residue) {
        Series& one = curves.add(text("p mod 3 = ", residue), Series::Style::points);
        for (std::size_t p = residue; p < points.size(); p += 3) {
            one.add(points[p][0], points[p][1]);
            one.names.push_back(std::to_string(p));
        }
    }
    return {
        "t-sne",
        told("t-SNE of the 128 rows of 8 dimensions, seed {}: the nearest row is at offset {}; 6 and 63 are multiples "
             "of 3, so these neighbours share a colour",
             seed, nearest),
        "t-SNE 1, no unit", "t-SNE 2, no unit", std::move(curves)};
}

Result run(const Request& request) {
    Result result;
    Figures& nearest = result.table("nearest", "128 rows: the nearest offsets at several widths",
                                    {"dimensions", "nearest", "distance", "second", "distance of it", "offset 1",
                                     "spread within an offset", "nearest row, by offset"});
    Curves curves;
    Series marks = series("8 dimensions, 6 and 63", Series::Style::points);
    for (const int d : {narrow, 64, 512}) {
        const Table table = sinusoidal_table(d, rows);
        const auto [mean, spread] = profile_of(table);
        const auto order = ranked(mean); // the first is offset 0
        add_row(nearest, d, order[1], mean[order[1]], order[2], mean[order[2]], mean[1], spread,
                counts_text(nearest_offsets(table.rows)));
        Series& curve = curves.add(std::to_string(d) + " dimensions");
        for (std::size_t offset = 0; offset < mean.size(); ++offset) {
            curve.add(offset, mean[offset] / std::sqrt(static_cast<double>(d)));
            if (d != narrow || (offset != 6 && offset != 63)) continue;
            marks.add(offset, curve.y.back());
            marks.names.push_back(std::to_string(offset));
        }
    }
    curves.series.push_back(std::move(marks));
    request.progress("t-SNE");
    const auto points = tsne(sinusoidal_table(narrow, rows).rows, perplexity, request.seed);
    const std::string in_map = counts_text(nearest_offsets(points));
    result.expected = {"With 8 dimensions, rows are close to each other at offset 6, nearly a turn of the fastest "
                       "pair, and at 63, nearly ten turns of it and one of the second pair.",
                       "With many dimensions, neighbouring positions are the closest."};
    result.found = {told("In the t-SNE map, the nearest point is at offset {}.", in_map),
                    "One text finds positions 5 and 68 too close to each other: they are 63 apart."};
    result.pictures = {map_picture(points, in_map, request.seed),
                       {"distance",
                        "Distance of two rows by their offset: with 8 dimensions, 6 and 63 are nearer than neighbours",
                        "offset, in positions", "distance / sqrt(dimensions)", std::move(curves)}};
    return result;
}

} // namespace clusters_file

const Experiment clusters_experiment{
    .name = "clusters",
    .summary = "Why does t-SNE of the sinusoidal table show clusters?",
    .details = "The 128 rows of 8 dimensions placed by exact t-SNE (van der Maaten and Hinton 2008) with perplexity 4, "
               "and the distance of two rows by their offset, with 8, 64 and 512 dimensions.",
    .answer = "With only 8 dimensions, positions {:nearest/0/nearest} or {:nearest/0/second} apart are closest to each "
              "other, and t-SNE shows them as clusters. With 64 and 512 dimensions, the closest are "
              "{:nearest/1/nearest} and {:nearest/2/nearest} apart.",
    .notes = {"t-SNE keeps neighbours, not distances: the gaps between its clusters mean nothing, and another --seed "
              "gives another map."},
    .seconds = {2, 2},
    .run = clusters_file::run};

} // namespace ordo::lab
