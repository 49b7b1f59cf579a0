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

// Compares t with t + period: a row with the worst over all t of a period. Returns the smallest cosine after RMSNorm.
double after_norm(int period, const std::vector<float>& x, Figures& figures) {
    const LooseEncoding encoding(spec_of(period), {width, 1, width, 1, 4 * period});
    double before = 0; // length at t + period over length at t
    struct {
        double ratio = 1, cosine = HUGE_VAL;
    } rms, layer; // the same after the norm
    for (int t = 0; t < period; ++t) {
        const std::vector<float> here = at_position(encoding, x, t), later = at_position(encoding, x, t + period);
        before = std::max(before, norm(later) / norm(here));
        for (const auto& [kind, worst] : {std::pair{Norm::rms, &rms}, {Norm::layer, &layer}}) {
            const std::vector<float> a = normed(kind, here), b = normed(kind, later);
            worst->ratio = std::max(worst->ratio, norm(b) / norm(a));
            worst->cosine = std::min(worst->cosine, cosine(a, b));
        }
    }
    add_row(figures, period, norm(x), before, rms.ratio, rms.cosine, layer.ratio, layer.cosine);
    return rms.cosine;
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

    double cosine_36 = 0;
    for (const auto& [period, row] : {std::pair{36, &x}, {36, &large}, {6, &x}, {6, &large}}) {
        const double found = after_norm(period, *row, norms);
        if (period == 36) cosine_36 = found; // of the longer row
    }
    const double first = shrink(x, scales, curve);
    constexpr std::pair<int, int> slow_pairs[] = {{0, 36}, {1, 37}, {1, 36}}, fast_pairs[] = {{0, 6}, {1, 7}, {1, 6}};
    collisions(36, slow_pairs, meets);
    collisions(6, fast_pairs, meets);
    near_collisions(near);

    Result result;
    result.answer =
        told("A norm removes the stretch: positions one turn apart, such as 0 and 36, become the same vector (cosine "
             "{}). Attention after a norm confuses each position with the positions 36, 72, ... later.",
             figure(cosine_36, 8));
    result.found = {
        told("An embedding of length {}, drawn from N(0, 1/d), is multiplied by {} in the first 36 positions: the "
             "stretch starts as a shrink. Doubling the input gives {} times the output: the scale |x| makes it "
             "quadratic.",
             figure(norm(x)), figure(first), figure(doubled(x)))};
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
    .summary = "What does a norm leave of rotate-and-stretch?",
    .details = "A random embedding of width 128 at positions a period apart, before and after RMSNorm and LayerNorm; "
               "its length by position; angles of pairs of positions; near-collisions of the sinusoidal table.",
    .run = stretch_file::run};

} // namespace ordo::lab
