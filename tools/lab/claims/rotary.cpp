// SPDX-License-Identifier: MIT
// Rotary positions: which distance a score depends on, and which quantities fall with the distance.
// Su et al. 2021, RoFormer, arXiv 2104.09864: section 3.4.2 (the product), 3.4.3 (the bound).
#include "tools/lab/math/matrix.h"
#include "tools/lab/study/prelude.h"

#include <complex>

namespace ordo::lab {
namespace rotary_file {

constexpr int width = 128, small_width = 8, farthest = 4096;
constexpr const char* slipped = "rope:theta=0.0001"; // 10000^(+2k/d), as in one text's code

// R_t; R_-t is its transpose.
Matrix rotation(const LooseEncoding& rope, int t) {
    const Matrix rows = rope.table(1, "matrix", std::abs(t)).rows;
    return t < 0 ? transposed(rows) : rows;
}

void add_products(Result& result, std::uint64_t seed) {
    const LooseEncoding rope("rope", dims_of(width)), small("rope", dims_of(small_width));
    Figures& products =
        result.table("product", "Largest difference of R_i^T R_j from R_(j-i) and from R_(i-j), width 128, in double",
                     {"i", "j", "against_R_(j-i)", "against_R_(i-j)"});
    for (const auto& [i, j] : {std::pair{0, 1}, {1, 0}, {3, 14}, {14, 3}, {5, 100}, {100, 111}, {1000, 4000}}) {
        const Matrix product = times(rotation(rope, -i), rotation(rope, j));
        add_row(products, i, j, largest_difference(product, rotation(rope, j - i)),
                largest_difference(product, rotation(rope, i - j)));
    }
    Figures& corrected = result.table(
        "corrected",
        "A score (R_i W_q x_i) . (R_j W_k x_j) of random x and W, and the errors of three formulas for it: x_i^T W_q^T "
        "R_(j-i) W_k x_j, the same with W_q as printed in the paper, and with R_(i-j); width 8, in double",
        {"i", "j", "score", "off_corrected", "off_as_printed", "off_other_sign"});
    const auto random = [seed](int columns, std::uint64_t stream) {
        return random_matrix(small_width, columns, 1, seed, stream);
    };
    const Matrix query = random(small_width, 0x910), key = random(small_width, 0x920), x = random(1, 0x930),
                 y = random(1, 0x931); // x_i and x_j
    for (const auto& [i, j] : {std::pair{1, 0}, {5, 3}, {14, 3}, {21, 1}, {3, 14}}) {
        const Matrix q = times(rotation(small, i), query, x), k = times(rotation(small, j), key, y);
        const double score = times(transposed(q), k)[0][0];
        const auto off = [&](const Matrix& left, int turn) {
            return times(transposed(x), left, rotation(small, turn), key, y)[0][0] - score;
        };
        add_row(corrected, i, j, score, off(transposed(query), j - i), off(query, j - i),
                off(transposed(query), i - j));
    }
}

// Of q = k = (1, ..., 1), divided by the width. S_j is the sum over the first j pairs of exp(i distance theta).
struct Equal {
    double score = 0; // the mean cosine
    // RoFormer's bound (eq. 37) is max |h_(j+1) - h_j| times the sum of |S_j|, where h_j is the product of the j-th
    // pairs. Here that factor is 2, the h of the last pair, so the bound is the mean of |S_j|.
    double bound = 0;
};
Equal equal_vectors(const Vector& frequencies, int distance) {
    std::complex<double> sum;
    double total = 0;
    for (const double theta : frequencies) total += std::abs(sum += std::polar(1.0, distance * theta));
    const auto pairs = static_cast<double>(frequencies.size());
    return {sum.real() / pairs, total / pairs};
}

// The same by distance, in steps of 2 % or at least 1: oscillations are visible on a logarithmic axis.
Series by_distance(const std::string& label, const std::string& spec, int d, int most,
                   double Equal::*what = &Equal::score) {
    Series out = series(label);
    const Vector frequencies = rope_frequencies(d, spec);
    for (int at = 1; at <= most; at = std::max(at + 1, static_cast<int>(at * 1.02)))
        out.add(at, equal_vectors(frequencies, at).*what);
    return out;
}

// q . k of each row of vectors [n, width], q at position base + distance, k at base, by the engine's rotation.
Vector scores(const LooseEncoding& rope, std::vector<float> q, std::vector<float> k, int distance, int base = 0) {
    const int n = static_cast<int>(q.size()) / width;
    const std::vector<int> here(n, base), there(static_cast<std::size_t>(n), base + distance);
    const View queries = view(q.data(), n, width), keys = view(k.data(), n, width);
    rope.stack().layer(0).rotate(queries, {0, 0, 1, Role::query, there});
    rope.stack().layer(0).rotate(keys, {0, 0, 1, Role::key, here});
    Vector out;
    for (int i = 0; i < n; ++i) out.push_back(dot(row_span(queries, i), row_span(keys, i)));
    return out;
}

void add_scores(Result& result, const Request& request) {
    const LooseEncoding rope("rope", dims_of(width));
    const Vector frequencies = rope_frequencies(width);
    const std::size_t draws = request.quick ? 1000 : 5000;
    const std::vector<float> q = normal_floats(draws * width, request.seed, 0x901),
                             k = normal_floats(draws * width, request.seed, 0x902);
    Figures& table =
        result.table("distance", "Score by distance at width 128, through the engine's rotation",
                     {"distance", "random_mean", "error", "random_sd", "aligned_mean_cos", "bound_mean_abs_S"}, 3);
    Curves curves{
        .series = {series("mean", Series::Style::line_points), series("four published", Series::Style::points)},
        .references = {{"mean expected", 0}},
        .log_x = true,
        .interval = "± standard deviation"};
    for (const int distance : {0, 1, 2, 3, 5, 7, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000}) {
        const Sample sample = sample_of(scores(rope, q, k, distance));
        const double mean = sample.mean(), deviation = sample.deviation();
        const Equal equal = equal_vectors(frequencies, distance);
        add_row(table, distance, mean, sample.standard_error(), deviation, equal.score, equal.bound);
        if (distance > 0) curves.series[0].add(distance, mean, mean - deviation, mean + deviation);
    }
    std::vector<bool> falls(draws, true);
    Vector last(draws, HUGE_VAL);
    double moved = 0; // the largest change of a score when both positions move by 1,000
    for (const auto& [distance, published] : {std::pair{1, -1.503}, {5, 2.943}, {10, 0.302}, {20, -1.874}}) {
        curves.series[1].add(distance, published);
        const Vector here = scores(rope, q, k, distance);
        for (std::size_t d = 0; d < draws; ++d) falls[d] = falls[d] && here[d] < last[d];
        last = here;
        moved = std::max(moved, largest_difference(here, scores(rope, q, k, distance, 1000)));
    }
    const Interval falling = wilson(std::ranges::count(falls, true), static_cast<std::int64_t>(draws));
    result.answer = told("It depends on the distance alone: moving both positions by 1,000 changes a score by {} at "
                         "most, by rounding. It need not decay: random vectors score the same noise at every distance. "
                         "Equal vectors fall from 1 to {} of their score at distance 1,000, with oscillations.",
                         figure(moved), figure(equal_vectors(frequencies, 1000).score, 2));
    result.found = {told("In {} to {} % of draws, random vectors score less and less at distances 1, 5, 10 and 20, by "
                         "chance. Four published numbers at these distances do not even fall in order.",
                         figure(100 * falling.low), figure(100 * falling.high))};
    result.pictures = {{"random", "Scores of random vectors are the same noise at every distance (width 128)",
                        "distance in positions", "score q . k", std::move(curves)}};
}

Result run(const Request& request) {
    Result result;
    add_products(result, request.seed);
    add_scores(result, request);
    Figures& slip = result.table("positive-exponent", "Frequencies in radians per position at head width 8",
                                 {"pair", "frequency", "exponent_positive", "of_which_after_whole_turns"}, 4);
    const Vector f = rope_frequencies(small_width), g = rope_frequencies(small_width, slipped);
    for (std::size_t k = 0; k < f.size(); ++k) add_row(slip, k, f[k], g[k], turned(g[k]));
    Curves decay{.series = {by_distance("q = k", "rope", width, farthest),
                            by_distance("RoFormer's bound", "rope", width, farthest, &Equal::bound)},
                 .log_x = true,
                 .log_y = true},
        bases{.references = {{"no rotation", 1}, {"orthogonal", 0}}, .log_x = true},
        exponents{.series = {by_distance("theta = 10000^(-2k/8)", "rope", small_width, 60),
                             by_distance("theta = 10000^(+2k/8)", slipped, small_width, 60)}};
    for (double& score : decay.series[0].y) score = std::abs(score);
    for (const std::string base : {"100", "10000", "1000000"})
        bases.series.push_back(by_distance("theta = " + base, "rope:theta=" + base, width, farthest));
    const char *x = "distance in positions", *y = "score / width";
    result.pictures.insert(result.pictures.begin(),
                           {"decay",
                            "Only a bound falls with the distance. The score of equal vectors oscillates far below it",
                            x, "size of the score / width", std::move(decay)});
    result.pictures.push_back(
        {"bases",
         "The larger the base theta, the longer the distance at which equal vectors keep their score (width 128)", x, y,
         std::move(bases)});
    result.pictures.push_back(
        {"positive-exponent-scores",
         "With a positive exponent, every pair rotates too fast and the score is erratic (head width 8, q = k)", x, y,
         std::move(exponents)});
    return result;
}

} // namespace rotary_file

const Experiment rotary_experiment{
    .name = "rotary",
    .summary = "Does RoPE depend on distance alone, and does it decay?",
    .details = "R_i^T R_j compared with R_(j-i) and R_(i-j) in double, and the score with its projections; scores of "
               "random vectors by distance, of equal vectors for three bases, and the bound of RoFormer's section "
               "3.4.3; the frequencies of an exponent with the wrong sign.",
    .notes =
        {"The bound is the mean of |S_j| over the pairs, RoFormer section 3.4.3. It multiplies max |h_(j+1) - h_j|, "
         "which depends on q and k; it says nothing about random vectors.",
         "The four numbers are published in Ben_Kurzion_Project_Report.md of github.com/benkurzion/Transformer "
         "(Investigating Transformer Positional Encodings), without the vectors and their width.",
         "Table distance: random_mean, its standard error (error) and the deviation of single scores (random_sd) are "
         "of random q and k; aligned_mean_cos is the score of q = k = (1, ..., 1) divided by the width; "
         "bound_mean_abs_S is the bound."},
    .run = rotary_file::run};

} // namespace ordo::lab
