// SPDX-License-Identifier: MIT
// Rotary positions: which distance a score depends on, and which quantities fall with the distance.
// Su et al. 2021, RoFormer, arXiv 2104.09864: section 3.4.2 (the product), 3.4.3 (the bound).
#include "tools/lab/math/matrix.h"
#include "tools/lab/study/prelude.h"

#include <complex>

namespace ordo::lab {
namespace rotary_file {

constexpr int width = 128, small_width = 8;
constexpr std::array distances = {0, 1, 2, 3, 5, 7, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};

// R_t; R_-t is its transpose.
Matrix rotation(const LooseEncoding& rope, int t) {
    const Matrix rows = rope.table(1, "matrix", std::abs(t)).rows;
    return t < 0 ? transposed(rows) : rows;
}

// The largest differences of R_i^T R_j from R_(j-i) and from R_(i-j), for some i and j.
void rotation_products(const LooseEncoding& rope, Figures& figures) {
    for (const auto& [i, j] : {std::pair{0, 1}, {1, 0}, {3, 14}, {14, 3}, {5, 100}, {100, 111}, {1000, 4000}}) {
        const Matrix product = times(rotation(rope, -i), rotation(rope, j));
        add_row(figures, i, j, largest_difference(product, rotation(rope, j - i)),
                largest_difference(product, rotation(rope, i - j)));
    }
}

// A score (R_i W_q x_i) . (R_j W_k x_j) of random x and W, and the errors of three products: x_i^T W_q^T R_(j-i) W_k
// x_j; W_q for W_q^T, as printed in a paper; R_(i-j).
void score_products(std::uint64_t seed, Figures& figures) {
    const LooseEncoding rope("rope", dims_of(small_width));
    const auto random = [seed](int columns, std::uint64_t stream) {
        return random_matrix(small_width, columns, 1, seed, stream);
    };
    const Matrix query = random(small_width, 0x910), key = random(small_width, 0x920), x = random(1, 0x930),
                 y = random(1, 0x931); // x_i and x_j
    for (const auto& [i, j] : {std::pair{1, 0}, {5, 3}, {14, 3}, {21, 1}, {3, 14}}) {
        const auto product = [&](const Matrix& left, int turn) {
            return times(transposed(x), left, rotation(rope, turn), key, y)[0][0];
        };
        const Matrix q = times(rotation(rope, i), query, x), k = times(rotation(rope, j), key, y);
        const double score = times(transposed(q), k)[0][0];
        add_row(figures, i, j, score, product(transposed(query), j - i) - score, product(query, j - i) - score,
                product(transposed(query), i - j) - score);
    }
}

// ---- Scores by distance -----------------------------------------------------------------------

// q . k of each row of vectors [n, d], q at position base + distance, k at base.
Vector scores(const LooseEncoding& rope, std::vector<float> q, std::vector<float> k, int d, int distance,
              int base = 0) {
    const int n = static_cast<int>(q.size()) / d;
    const std::vector<int> here(n, base), there(static_cast<std::size_t>(n), base + distance);
    const View queries = view(q.data(), n, d), keys = view(k.data(), n, d);
    rope.stack().layer(0).rotate(queries, {0, 0, 1, Role::query, there});
    rope.stack().layer(0).rotate(keys, {0, 0, 1, Role::key, here});
    Vector out;
    for (int i = 0; i < n; ++i) out.push_back(dot(row_span(queries, i), row_span(keys, i)));
    return out;
}

// The mean cosine of the angles between equal vectors: q = k = (1, ..., 1).
double aligned(const LooseEncoding& rope, int d, int distance) {
    const std::vector<float> ones(d, 1.0f);
    return scores(rope, ones, ones, d, distance)[0] / d;
}

// Mean of |S_j|, where S_j is the sum over the first j pairs of exp(i distance theta). The score is at most
// max |h_(j+1) - h_j| times the sum of |S_j| (RoFormer, eq. 37), where h_j is the product of the j-th pairs. For
// q = k = (1, ..., 1) that factor is 2, the h of the last pair. Divided by the width, the bound is this mean.
double bound(const Vector& frequencies, int distance) {
    std::complex<double> sum;
    double total = 0;
    for (const double theta : frequencies) {
        sum += std::polar(1.0, distance * theta);
        total += std::abs(sum);
    }
    return total / static_cast<double>(frequencies.size());
}

constexpr std::array published_at = {1, 5, 10, 20};
constexpr std::array published = {-1.503, 2.943, 0.302, -1.874}; // github.com/benkurzion/Transformer, project report

struct Measured {
    Series spread = series("mean", Series::Style::line_points);
    Interval falling;   // the share of draws whose scores fall in order at the four published distances
    double shifted = 0; // the largest change of such a score when both positions move by 1,000
};

Measured measure(const LooseEncoding& rope, const Request& request, Figures& figures) {
    const std::size_t draws = request.quick ? 1000 : 5000;
    const std::vector<float> q = normal_floats(draws * width, request.seed, 0x901),
                             k = normal_floats(draws * width, request.seed, 0x902);
    const Vector frequencies = column_of(rope.table(1, "frequency"), 1);
    Measured out;
    for (const int distance : distances) {
        const Sample sample = sample_of(scores(rope, q, k, width, distance));
        add_row(figures, distance, sample.mean(), sample.standard_error(), sample.deviation(),
                aligned(rope, width, distance), bound(frequencies, distance));
        if (distance == 0) continue; // the axis is logarithmic
        out.spread.add(distance, sample.mean(), sample.mean() - sample.deviation(), sample.mean() + sample.deviation());
    }
    std::vector<bool> falls(draws, true);
    Vector last(draws, HUGE_VAL);
    for (const int distance : published_at) {
        const Vector here = scores(rope, q, k, width, distance);
        for (std::size_t d = 0; d < draws; ++d) falls[d] = falls[d] && here[d] < last[d];
        last = here;
        out.shifted = std::max(out.shifted, largest_difference(here, scores(rope, q, k, width, distance, 1000)));
    }
    out.falling = wilson(std::ranges::count(falls, true), static_cast<std::int64_t>(draws));
    return out;
}

// ---- Pictures ---------------------------------------------------------------------------------

// Up to `most`, in steps of 2 % or at least 1: oscillations are visible on a logarithmic axis.
Series by_distance(const std::string& label, int most, const std::function<double(int)>& value) {
    Series out = series(label);
    for (int d = 1; d <= most; d = std::max(d + 1, static_cast<int>(d * 1.02))) out.add(d, value(d));
    return out;
}
Series aligned_scores(const std::string& label, const std::string& spec, int d, int most) {
    const LooseEncoding rope(spec, dims_of(d));
    return by_distance(label, most, [&](int distance) { return aligned(rope, d, distance); });
}

constexpr int most_distance = 4096;

Picture decay_picture(const Vector& frequencies) {
    Curves curves{.series = {aligned_scores("q = k", "rope", width, most_distance),
                             by_distance("RoFormer's bound", most_distance,
                                         [&](int distance) { return bound(frequencies, distance); })},
                  .log_x = true,
                  .log_y = true};
    for (double& score : curves.series[0].y) score = std::abs(score);
    return {"decay", "Only a bound falls with the distance. The score of equal vectors oscillates far below it",
            "distance in positions", "size of the score / width", std::move(curves)};
}

Picture bases_picture() {
    Curves curves{.references = {{"no rotation", 1}, {"orthogonal", 0}}, .log_x = true};
    for (const std::string base : {"100", "10000", "1000000"})
        curves.series.push_back(aligned_scores("theta = " + base, "rope:theta=" + base, width, most_distance));
    return {"bases",
            "The larger the base theta, the longer the distance at which equal vectors keep their score (width 128)",
            "distance in positions", "score / width", std::move(curves)};
}

// base^(+2k/d), as in one text's code, equals a base of 1/10000.
constexpr const char* slipped = "rope:theta=0.0001";

void positive_exponent(Figures& figures) {
    const auto frequencies = [](const char* spec) {
        return column_of(LooseEncoding(spec, dims_of(small_width)).table(1, "frequency"), 1);
    };
    const Vector f = frequencies("rope"), g = frequencies(slipped);
    for (std::size_t k = 0; k < f.size(); ++k) add_row(figures, k, f[k], g[k], turned(g[k]));
}

Picture exponent_picture() {
    Curves curves{.series = {aligned_scores("theta = 10000^(-2k/8)", "rope", small_width, 60),
                             aligned_scores("theta = 10000^(+2k/8)", slipped, small_width, 60)}};
    return {"positive-exponent-scores",
            "With a positive exponent, every pair rotates too fast and the score is erratic (head width 8, q = k)",
            "distance in positions", "score / width", std::move(curves)};
}

Picture random_picture(Series spread) {
    Series four = series("four published", Series::Style::points);
    for (std::size_t i = 0; i < published.size(); ++i) four.add(published_at[i], published[i]);
    Curves curves{.series = {std::move(spread), std::move(four)},
                  .references = {{"mean expected", 0}},
                  .log_x = true,
                  .interval = "± standard deviation"};
    return {"random", "Scores of random vectors are the same noise at every distance (width 128)",
            "distance in positions", "score q . k", std::move(curves)};
}

Result run(const Request& request) {
    const LooseEncoding rope("rope", dims_of(width));
    Figures product_table{{"i", "j", "against_R_(j-i)", "against_R_(i-j)"}, {}, -1};
    Figures table{{"distance", "random_mean", "error", "random_sd", "aligned_mean_cos", "bound_mean_abs_S"}, {}, 3};
    Figures slip_table{{"pair", "frequency", "exponent_positive", "of_which_after_whole_turns"}, {}, 4};
    Figures corrected_table{{"i", "j", "score", "off_corrected", "off_as_printed", "off_other_sign"}, {}, -1};
    rotation_products(rope, product_table);
    score_products(request.seed, corrected_table);
    positive_exponent(slip_table);
    Measured found = measure(rope, request, table);
    Result result;
    result.pictures = {decay_picture(column_of(rope.table(1, "frequency"), 1)), random_picture(std::move(found.spread)),
                       bases_picture(), exponent_picture()};
    result.answer =
        told("It depends on the distance alone: moving both positions by 1,000 changes a score by at most {}, which is "
             "rounding. It need not decay: random vectors score the same noise at every distance. Equal vectors fall "
             "from 1 to {} of their score at distance 1,000, with oscillations.",
             figure(found.shifted), figure(aligned(rope, width, 1000), 2));
    result.found = {told("In {} to {} % of draws, random vectors score less and less at distances 1, 5, 10 and 20, by "
                         "chance. Four published numbers at these distances do not even fall in order.",
                         figure(100 * found.falling.low), figure(100 * found.falling.high))};
    result.notes = {
        "The bound is the mean of |S_j| over the pairs, RoFormer section 3.4.3. It multiplies max |h_(j+1) - h_j|, "
        "which depends on q and k; it says nothing about random vectors.",
        "The four numbers are published in Ben_Kurzion_Project_Report.md of github.com/benkurzion/Transformer "
        "(Investigating Transformer Positional Encodings), without the vectors and their width.",
        "Table distance: random_mean, its standard error (error) and the deviation of single scores (random_sd) are of "
        "random q and k; aligned_mean_cos is the score of q = k = (1, ..., 1) divided by the width; bound_mean_abs_S "
        "is the bound."};
    result.tables = {
        {"product", "Largest difference of R_i^T R_j from R_(j-i) and from R_(i-j), width 128, in double",
         std::move(product_table)},
        {"corrected",
         "A score (R_i W_q x_i) . (R_j W_k x_j) of random x and W, and the errors of three formulas for it: x_i^T "
         "W_q^T R_(j-i) W_k x_j, the same with W_q as printed in the paper, and with R_(i-j); width 8, in double",
         std::move(corrected_table)},
        {"distance", "Score by distance at width 128, through the engine's rotation", std::move(table)},
        {"positive-exponent", "Frequencies in radians per position at head width 8", std::move(slip_table)}};
    return result;
}

} // namespace rotary_file

const Experiment rotary_experiment{
    .name = "rotary",
    .summary = "Does RoPE depend on distance alone, and does it decay?",
    .details = "R_i^T R_j compared with R_(j-i) and R_(i-j) in double, and the score with its projections; scores of "
               "random vectors by distance, of equal vectors for three bases, and the bound of RoFormer's section "
               "3.4.3; the frequencies of an exponent with the wrong sign.",
    .run = rotary_file::run};

} // namespace ordo::lab
