// SPDX-License-Identifier: MIT
// Rotary positions: which distance a score depends on, and which quantities fall with the distance.
// Su et al. 2021, RoFormer, arXiv 2104.09864: section 3.4.2 (the product), 3.4.3 (the bound).
#include "tools/lab/study/prelude.h"

#include <complex>

namespace ordo::lab {
namespace rotary_file {

constexpr int width = 128, small_width = 8;
constexpr std::array distances = {0, 1, 2, 3, 5, 7, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000};

// ---- Products of matrices (section 3.4.2) -----------------------------------------------------

using Rows = std::vector<Vector>;

Rows matrix_at(const LooseEncoding& rope, int position) {
    return rope.table(1, "matrix", position).rows;
}

Rows transposed(const Rows& m) {
    Rows out(m[0].size(), Vector(m.size()));
    for (std::size_t i = 0; i < m.size(); ++i)
        for (std::size_t j = 0; j < m[i].size(); ++j) out[j][i] = m[i][j];
    return out;
}

// R_t for t of either sign: R_-t = R_t^T.
Rows rotation(const LooseEncoding& rope, int t) {
    return t >= 0 ? matrix_at(rope, t) : transposed(matrix_at(rope, -t));
}

Vector times(const Rows& m, const Vector& x) {
    Vector out;
    for (const Vector& row : m) out.push_back(dot(row, x));
    return out;
}

// The largest difference between a^T b and c.
double product_error(const Rows& a, const Rows& b, const Rows& c) {
    const Rows at = transposed(a), bt = transposed(b);
    double most = 0;
    for (std::size_t i = 0; i < at.size(); ++i) most = std::max(most, largest_difference(times(bt, at[i]), c[i]));
    return most;
}

Vector random_vector(std::uint64_t seed, std::uint64_t stream) {
    const std::vector<float> x = normal_floats(small_width, seed, stream);
    return {x.begin(), x.end()};
}

Rows random_matrix(std::uint64_t seed, std::uint64_t stream) {
    Rows rows;
    for (std::uint64_t i = 0; i < small_width; ++i) rows.push_back(random_vector(seed, stream + i));
    return rows;
}

// The largest differences of R_i^T R_j from R_(j-i) and from R_(i-j), for some i and j. In double.
void rotation_products(Figures& figures) {
    const LooseEncoding rope("rope", dims_of(width));
    for (const auto& [i, j] : {std::pair{0, 1}, {1, 0}, {3, 14}, {14, 3}, {5, 100}, {100, 111}, {1000, 4000}}) {
        const Rows left = matrix_at(rope, i), right = matrix_at(rope, j);
        add_row(figures, i, j, product_error(left, right, rotation(rope, j - i)),
                product_error(left, right, rotation(rope, i - j)));
    }
}

// A score (R_i W_q x_i) . (R_j W_k x_j) of random x and W, and the errors of three products: x_i^T W_q^T R_(j-i) W_k
// x_j; W_q for W_q^T, as printed in a paper; R_(i-j).
void score_products(std::uint64_t seed, Figures& figures) {
    const LooseEncoding rope("rope", dims_of(small_width));
    const Rows query = random_matrix(seed, 0x910), key = random_matrix(seed, 0x920);
    const Vector x = random_vector(seed, 0x930), y = random_vector(seed, 0x931); // x_i and x_j
    for (const auto& [i, j] : {std::pair{1, 0}, {5, 3}, {14, 3}, {21, 1}, {3, 14}}) {
        const auto product = [&](const Rows& left, int turn) { // x^T left R W_k x_j
            return dot(x, times(left, times(rotation(rope, turn), times(key, y))));
        };
        const double score = dot(times(matrix_at(rope, i), times(query, x)), times(matrix_at(rope, j), times(key, y)));
        add_row(figures, i, j, score, product(transposed(query), j - i) - score, product(query, j - i) - score,
                product(transposed(query), i - j) - score);
    }
}

// ---- Scores by distance -----------------------------------------------------------------------

// q . k of each row of vectors [n, d], q at position base + distance, k at base.
Vector scores(const LooseEncoding& rope, std::vector<float> q, std::vector<float> k, int d, int distance, int base) {
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
    return scores(rope, ones, ones, d, distance, 0)[0] / d;
}

// Mean of |S_j|, where S_j is the sum over the first j pairs of exp(i distance theta). The score is at most
// max |h_(j+1) - h_j| times the sum of |S_j| (RoFormer, eq. 37), where h_j is the product of the j-th pairs.
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

// Returns the interval of the share of draws whose scores fall in order at the four published distances.
Interval measure(const LooseEncoding& rope, const Request& request, Figures& figures, Series& spread) {
    const std::size_t draws = request.quick ? 1000 : 5000;
    const std::vector<float> q = normal_floats(draws * width, request.seed, 0x901),
                             k = normal_floats(draws * width, request.seed, 0x902);
    const Vector frequencies = column_of(rope.table(1, "frequency"), 1);
    for (const int distance : distances) {
        const Sample sample = sample_of(scores(rope, q, k, width, distance, 0));
        add_row(figures, distance, sample.mean(), sample.standard_error(), sample.deviation(),
                aligned(rope, width, distance), bound(frequencies, distance));
        if (distance == 0) continue; // the axis is logarithmic
        spread.add(distance, sample.mean(), sample.mean() - sample.deviation(), sample.mean() + sample.deviation());
    }
    std::array<Vector, 4> four;
    for (std::size_t i = 0; i < four.size(); ++i) four[i] = scores(rope, q, k, width, published_at[i], 0);
    std::int64_t falling = 0;
    for (std::size_t d = 0; d < draws; ++d)
        falling += four[0][d] > four[1][d] && four[1][d] > four[2][d] && four[2][d] > four[3][d];
    return wilson(falling, static_cast<std::int64_t>(draws));
}

// How much a score changes when both positions move by 1000.
double shift_error(const LooseEncoding& rope, std::uint64_t seed) {
    const std::vector<float> q = normal_floats(100 * width, seed, 0x903), k = normal_floats(100 * width, seed, 0x904);
    double most = 0;
    for (const int distance : published_at)
        most = std::max(most, largest_difference(scores(rope, q, k, width, distance, 0),
                                                 scores(rope, q, k, width, distance, 1000)));
    return most;
}

// ---- A slip and pictures ----------------------------------------------------------------------

// base^(+2k/d), as in one text's code, equals a base of 1/10000.
Picture positive_exponent(Figures& figures) {
    const LooseEncoding right("rope", dims_of(small_width)), slipped("rope:theta=0.0001", dims_of(small_width));
    const Vector f = column_of(right.table(1, "frequency"), 1), g = column_of(slipped.table(1, "frequency"), 1);
    for (std::size_t k = 0; k < f.size(); ++k) add_row(figures, k, f[k], g[k], turned(g[k]));
    Curves curves{.series = {series("theta = 10000^(-2k/8)"), series("theta = 10000^(+2k/8)")}};
    for (int distance = 0; distance <= 60; ++distance) {
        curves.series[0].add(distance, aligned(right, small_width, distance));
        curves.series[1].add(distance, aligned(slipped, small_width, distance));
    }
    return {"positive-exponent-scores",
            "With a positive exponent, every pair rotates too fast and the score is erratic (head width 8, q = k)",
            "distance in positions", "score / width", std::move(curves)};
}

constexpr int most_distance = 4096;
// Steps of 2 %, in which the oscillations of a score are visible on a logarithmic axis.
int next_distance(int distance) {
    return std::max(distance + 1, static_cast<int>(distance * 1.02));
}

// For q = k = (1, ..., 1) every pair has h = 2. The largest |h_(j+1) - h_j| is that of the last pair, 2. Divided by the
// width, the bound is the mean of |S_j|.
Picture decay_picture(const LooseEncoding& rope, const Vector& frequencies) {
    Curves curves{.series = {series("q = k"), series("RoFormer's bound")}, .log_x = true, .log_y = true};
    double nearest = HUGE_VAL; // the smallest ratio of the bound to the score
    for (int d = 1; d <= most_distance; d = next_distance(d)) {
        const double score = std::abs(aligned(rope, width, d)), most = bound(frequencies, d);
        nearest = std::min(nearest, most / score);
        curves.series[0].add(d, score);
        curves.series[1].add(d, most);
    }
    return {
        "decay",
        text("Only a bound falls with the distance. The score of equal vectors oscillates below it, by a factor of ",
             figure(nearest, 2), " or more (width ", width, ")"),
        "distance in positions", "size of the score / width", std::move(curves)};
}

// Aligned scores for several bases.
Picture bases_picture() {
    Curves curves{.references = {{"no rotation", 1}, {"orthogonal", 0}}, .log_x = true};
    for (const char* base : {"100", "10000", "1000000"}) {
        const LooseEncoding rope(std::string("rope:theta=") + base, dims_of(width));
        Series& curve = curves.add(std::string("theta = ") + base);
        for (int d = 1; d <= most_distance; d = next_distance(d)) curve.add(d, aligned(rope, width, d));
    }
    return {"bases",
            text("The larger the base theta, the longer the distance at which equal vectors keep their score (width ",
                 width, ")"),
            "distance in positions", "score / width", std::move(curves)};
}

Picture random_picture(Series spread) {
    Series text_draw = series("four published", Series::Style::points);
    for (std::size_t i = 0; i < published.size(); ++i) text_draw.add(published_at[i], published[i]);
    Curves curves{.series = {std::move(spread), std::move(text_draw)},
                  .references = {{"mean expected", 0}},
                  .log_x = true,
                  .interval = "± standard deviation"};
    return {"random", "Scores of random vectors are the same noise at every distance (width 128)",
            "distance in positions", "score q . k", std::move(curves)};
}

Result run(const Request& request) {
    const LooseEncoding rope("rope", dims_of(width));
    const Vector frequencies = column_of(rope.table(1, "frequency"), 1);
    Figures product_table{{"i", "j", "against_R_(j-i)", "against_R_(i-j)"}, {}, -1};
    Figures table{{"distance", "random_mean", "error", "random_sd", "aligned_mean_cos", "bound_mean_abs_S"}, {}, 3};
    Figures slip_table{{"pair", "frequency", "exponent_positive", "of_which_after_whole_turns"}, {}, 4};
    Series spread = series("mean", Series::Style::line_points);
    Figures corrected_table{{"i", "j", "score", "off_corrected", "off_as_printed", "off_other_sign"}, {}, -1};
    rotation_products(product_table);
    score_products(request.seed, corrected_table);
    const Interval falling = measure(rope, request, table, spread);
    const double shifted = shift_error(rope, request.seed);
    Result result;
    result.pictures = {decay_picture(rope, frequencies), random_picture(std::move(spread)), bases_picture(),
                       positive_exponent(slip_table)};
    result.answer =
        told("It depends on the distance alone: moving both positions by 1,000 changes a score by at most {}, which is "
             "rounding. It need not decay: random vectors score the same noise at every distance. Equal vectors fall "
             "from 1 to {} of their score at distance 1,000, with oscillations.",
             figure(shifted), figure(aligned(rope, width, 1000), 2));
    result.found = {told("In {} to {} % of draws, random vectors score less and less at distances 1, 5, 10 and 20, by "
                         "chance. Four published numbers at these distances do not even fall in order.",
                         figure(100 * falling.low), figure(100 * falling.high))};
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
