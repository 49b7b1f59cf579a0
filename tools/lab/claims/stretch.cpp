// SPDX-License-Identifier: MIT
// Rotate and stretch: how a position differs from the position one turn later, and how much of it a norm keeps.
// Ben Kurzion, "Investigating Transformer Positional Encodings" (github.com/benkurzion/Transformer).
#include "ops/norm.h"
#include "tools/lab/study/prelude.h"

namespace ordo::lab {
namespace stretch_file {

constexpr int width = 128;

std::string spec_of(int period) {
    return "rotate-stretch:period=" + std::to_string(period);
}

// x [1, width] at a position.
std::vector<float> at_position(const LooseEncoding& encoding, std::vector<float> x, int position) {
    encoding.embed(view(x.data(), 1, width), position);
    return x;
}

std::vector<float> normed(Norm kind, std::vector<float> x) {
    std::vector<float> ones(width, 1.0f), zeros(width, 0.0f);
    const View rows = view(x.data(), 1, width);
    norm(kind, rows, view(ones.data(), 1, width), view(zeros.data(), 1, width), 1e-5f, rows);
    return x;
}

// ---- The effect of a norm ---------------------------------------------------------------------

// Compares t with t + period. Each value is the worst over all t of a period.
struct AfterNorm {
    double before = 0;                                     // length at t + period over length at t
    double rms = 1, layer = 1;                             // the same after the norm
    double rms_cosine = HUGE_VAL, layer_cosine = HUGE_VAL; // the smallest
};

AfterNorm after_norm(int period, const std::vector<float>& x, Figures& figures) {
    const LooseEncoding encoding(spec_of(period), {width, 1, width, 1, 4 * period});
    AfterNorm worst;
    for (int t = 0; t < period; ++t) {
        const std::vector<float> here = at_position(encoding, x, t), later = at_position(encoding, x, t + period);
        worst.before = std::max(worst.before, norm(later) / norm(here));
        for (const Norm kind : {Norm::rms, Norm::layer}) {
            const std::vector<float> a = normed(kind, here), b = normed(kind, later);
            double& ratio = kind == Norm::rms ? worst.rms : worst.layer;
            double& least = kind == Norm::rms ? worst.rms_cosine : worst.layer_cosine;
            ratio = std::max(ratio, norm(b) / norm(a));
            least = std::min(least, cosine(a, b));
        }
    }
    add_row(figures, period, norm(x), worst.before, worst.rms, worst.rms_cosine, worst.layer, worst.layer_cosine);
    return worst;
}

// ---- The scale --------------------------------------------------------------------------------

// The ratio of the lengths after and before, for an embedding of length about 1, as in N(0, 1/d).
double shrink(const std::vector<float>& x, Figures& figures, Series& curve) {
    const LooseEncoding encoding(spec_of(36), dims_of(width));
    for (const int t : {0, 1, 3, 35, 36, 71, 72, 107, 108, 180, 359, 360}) {
        const std::vector<float> y = at_position(encoding, x, t);
        add_row(figures, t, norm(x), norm(y), norm(y) / norm(x), 0.1 * (std::floor(t / 36.0) + 1) * norm(x));
    }
    for (int t = 0; t <= 400; ++t) curve.add(t, norm(at_position(encoding, x, t)) / norm(x));
    return norm(at_position(encoding, x, 0)) / norm(x);
}

// The ratio of the outputs for twice the input and for the input: 2 if the encoding were linear.
double doubled(const std::vector<float>& x) {
    const LooseEncoding encoding(spec_of(36), dims_of(width));
    std::vector<float> twice = x;
    for (float& v : twice) v *= 2;
    return norm(at_position(encoding, twice, 5)) / norm(at_position(encoding, x, 5));
}

// ---- Collisions -------------------------------------------------------------------------------

void collisions(int period, std::span<const std::pair<int, int>> pairs, Figures& figures) {
    const LooseEncoding encoding(spec_of(period), dims_of(width));
    const Table table = encoding.table(2 * period + 2);
    for (const auto& [i, j] : pairs) {
        const auto &a = table.rows[i], &b = table.rows[j];
        const double apart = std::abs(turned(b[1] - a[1]));
        add_row(figures, spec_of(period), i, j, a[1], b[1], apart, a[2], b[2]);
    }
}

// Offsets at which a wave of one radian per position comes nearer to a whole number of turns than at any offset before.
// Also the distances of the rows of the sinusoidal table at these offsets, for widths 8 and 128.
void near_collisions(Figures& figures) {
    const LooseEncoding narrow("sinusoidal:scale=1", dims_of(8)), wide("sinusoidal:scale=1", dims_of(width));
    const Table small = narrow.table(1000), large = wide.table(1000);
    const std::vector<double> angles = column_of(narrow.table(1000, "angle"), 0);
    double best = std::numbers::pi;
    for (std::size_t offset = 1; offset < angles.size(); ++offset) {
        const double apart = std::abs(turned(angles[offset]));
        if (apart >= best) continue;
        best = apart;
        add_row(figures, offset, apart, distance(small.rows[0], small.rows[offset]),
                distance(large.rows[0], large.rows[offset]));
    }
}

Picture picture_of(double length, double first, Series curve) {
    Curves curves;
    curve.style = Series::Style::steps;
    curves.series = {std::move(curve)};
    return {"stretch",
            told("An embedding of length {} first shrinks to {} of it, and less after each turn of 36 positions",
                 figure(length), figure(first)),
            "position", "length after / length before", std::move(curves)};
}

Result run(const Request& request) {
    const std::vector<float> x = normal_floats(width, request.seed, 0x57e7, 1 / std::sqrt(double{width}));
    const std::vector<float> large = normal_floats(width, request.seed, 0x57e7);
    Figures norms{{"period", "length", "ratio_before", "ratio_after_rms", "cosine_after_rms", "ratio_after_layer",
                   "cosine_after_layer"},
                  {},
                  7};
    Figures scales{{"position", "length_before", "length_after", "after_over_before", "scale_of_the_formula"}, {}, 4};
    Figures meets{
        {"encoding", "position", "other", "angle", "other_angle", "apart", "stretch", "other_stretch"}, {}, 4};
    Figures near{{"offset", "pair_0_off_by_radians", "row_distance_width_8", "row_distance_width_128"}, {}, 6};
    Series curve = series("period 36");

    const AfterNorm slow = after_norm(36, x, norms), slow_large = after_norm(36, large, norms);
    after_norm(6, x, norms);
    after_norm(6, large, norms);
    const double first = shrink(x, scales, curve);
    constexpr std::pair<int, int> slow_pairs[] = {{0, 36}, {1, 37}, {1, 36}}, fast_pairs[] = {{0, 6}, {1, 7}, {1, 6}};
    collisions(36, slow_pairs, meets);
    collisions(6, fast_pairs, meets);
    near_collisions(near);

    const auto number = [](const Cell& cell) { return std::get<double>(cell); };
    const auto& last = near.rows.back();
    Result result;
    result.answer =
        told("A norm removes the stretch: positions one turn apart, such as 0 and 36, become the same vector (cosine "
             "{}). Attention after a norm confuses each position with the positions 36, 72, ... later.",
             figure(slow_large.rms_cosine, 8));
    result.found = {
        told("Positions t and t + 36 rotate by the same angle; their lengths differ by a factor of {} in the first two "
             "turns. After RMSNorm, a row of length {} has a factor of {} left; after LayerNorm, {} with a cosine of "
             "{}. A row of length {} keeps a factor of {} after RMSNorm, by its epsilon (1e-5).",
             figure(slow.before), figure(norm(large)), figure(slow_large.rms, 8), figure(slow_large.layer, 8),
             figure(slow_large.layer_cosine, 8), figure(norm(x)), figure(slow.rms)),
        told("Positions 0 and 36 are {} radians apart, 1 and 37 {}, 1 and 36 {}.", figure(number(meets.rows[0][5])),
             figure(number(meets.rows[1][5])), figure(number(meets.rows[2][5]))),
        told("An embedding of length {}, drawn from N(0, 1/d), is multiplied by {} in the first 36 positions: the "
             "stretch starts as a shrink. Doubling the input gives {} times the output: the scale |x| makes it "
             "quadratic.",
             figure(norm(x)), figure(first), figure(doubled(x))),
        told("The sinusoidal table has no such period: its fastest wave comes within {} rad of a whole turn at offset "
             "{}, but there the rows of width 128 are still {} apart.",
             figure(number(last[1]), 2), std::get<std::int64_t>(last[0]), figure(number(last[3])))};
    result.notes = {"A model with this encoding can still learn order from the causal mask, and from the residual "
                    "stream, which keeps the stretched rows next to the results of the normed ones."};
    result.pictures = {picture_of(norm(x), first, std::move(curve))};
    result.tables = {
        {"after-norm",
         "Positions t and t + period: the largest ratio of lengths and the smallest cosine, over all t below a period",
         std::move(norms)},
        {"scale", "Lengths before and after, period 36", std::move(scales)},
        {"collisions", "Angles in radians and stretches of pairs of positions", std::move(meets)},
        {"near-collisions",
         "Offsets at which pair 0 of the sinusoidal table is closer to itself than at all smaller offsets",
         std::move(near)}};
    return result;
}

} // namespace stretch_file

const Experiment stretch_experiment{
    .name = "stretch",
    .summary = "What does a norm leave of the rotate-and-stretch encoding?",
    .details = "A random embedding of width 128 at positions a period apart, before and after RMSNorm and LayerNorm; "
               "its length by position; angles of pairs of positions; near-collisions of the sinusoidal table.",
    .run = stretch_file::run};

} // namespace ordo::lab
