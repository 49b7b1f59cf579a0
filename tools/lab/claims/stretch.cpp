// SPDX-License-Identifier: MIT
// Rotate and stretch: how a position differs from the position one turn later, and how much of it a norm keeps.
// Ben Kurzion, "Investigating Transformer Positional Encodings" (github.com/benkurzion/Transformer).
#include "ops/norm.h"
#include "tools/lab/study/cells.h"
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

// Compares t with t + period: a row with the worst over all t of a period.
void add_norms(Result& result, std::initializer_list<const std::vector<float>*> embeddings) {
    Figures& figures = result.table(
        "after-norm",
        "Positions t and t + period: the largest ratio of lengths and the smallest cosine, over all t below a period",
        {"period", "length", "ratio_before", "ratio_after_rms", "cosine_after_rms", "ratio_after_layer",
         "cosine_after_layer"},
        7);
    struct Worst {
        double ratio = 1, cosine = HUGE_VAL;
    };
    for (const int period : {36, 6})
        for (const std::vector<float>* x : embeddings) {
            const LooseEncoding encoding(spec_of(period), {width, 1, width, 1, 4 * period});
            double before = 0; // length at t + period over length at t
            Worst rms, layer;  // the same after the norm
            for (int t = 0; t < period; ++t) {
                const std::vector<float> here = at_position(encoding, *x, t),
                                         later = at_position(encoding, *x, t + period);
                before = std::max(before, norm(later) / norm(here));
                for (const auto& [kind, worst] : {std::pair{Norm::rms, &rms}, {Norm::layer, &layer}}) {
                    const std::vector<float> a = normed(kind, here), b = normed(kind, later);
                    worst->ratio = std::max(worst->ratio, norm(b) / norm(a));
                    worst->cosine = std::min(worst->cosine, cosine(a, b));
                }
            }
            add_row(figures, period, norm(*x), before, rms.ratio, rms.cosine, layer.ratio, layer.cosine);
        }
}

// The ratio of the lengths after and before, for an embedding of length about 1, as in N(0, 1/d).
void add_scale(Result& result, const std::vector<float>& x) {
    Figures& figures =
        result.table("scale", "Lengths before and after, period 36",
                     {"position", "length_before", "length_after", "after_over_before", "scale_of_the_formula"}, 4);
    const LooseEncoding encoding(spec_of(36), dims_of(width));
    for (const int t : {0, 1, 3, 35, 36, 71, 72, 107, 108, 180, 359, 360}) {
        const double length = norm(at_position(encoding, x, t));
        add_row(figures, t, norm(x), length, length / norm(x), 0.1 * (std::floor(t / 36.0) + 1) * norm(x));
    }
    Curves curves;
    Series& curve = curves.add("period 36", Series::Style::steps);
    for (int t = 0; t <= 400; ++t) curve.add(t, norm(at_position(encoding, x, t)) / norm(x));
    result.pictures = {{"stretch",
                        with_cells("An embedding of length {:scale/0/length_before} first shrinks to "
                                   "{:scale/0/after_over_before} of it, and less after each turn of 36 positions",
                                   result),
                        "position", "length after / length before", std::move(curves)}};
}

void add_collisions(Result& result) {
    Figures& figures =
        result.table("collisions", "Angles in radians and stretches of pairs of positions",
                     {"encoding", "position", "other", "angle", "other_angle", "apart", "stretch", "other_stretch"}, 4);
    for (const int period : {36, 6}) {
        const Table table = LooseEncoding(spec_of(period), dims_of(width)).table(2 * period + 2);
        for (const auto& [i, j] : {std::pair{0, period}, {1, period + 1}, {1, period}, {1, 7}}) {
            const auto &a = table.rows[i], &b = table.rows[j];
            add_row(figures, spec_of(period), i, j, a[1], b[1], std::abs(turned(b[1] - a[1])), a[2], b[2]);
        }
    }
}

// Offsets at which a wave of one radian per position comes nearer to a whole number of turns than at any offset before.
// Also the distances of the rows of the sinusoidal table at these offsets, for widths 8 and 128.
void add_near_collisions(Result& result) {
    Figures& figures =
        result.table("near-collisions",
                     "Offsets at which pair 0 of the sinusoidal table is closer to itself than at all smaller offsets",
                     {"offset", "pair_0_off_by_radians", "row_distance_width_8", "row_distance_width_128"}, 6);
    const Table small = sinusoidal_table(8, 1000), large = sinusoidal_table(width, 1000);
    const Vector angles = column_of(sinusoidal_table(8, 1000, "angle"), 0);
    double best = std::numbers::pi;
    for (std::size_t offset = 1; offset < angles.size(); ++offset) {
        const double apart = std::abs(turned(angles[offset]));
        if (apart >= best) continue;
        best = apart;
        add_row(figures, offset, apart, distance(small.rows[0], small.rows[offset]),
                distance(large.rows[0], large.rows[offset]));
    }
}

Result run(const Request& request) {
    const std::vector<float> x = normal_floats(width, request.seed, 0x57e7, 1 / std::sqrt(double{width})),
                             large = normal_floats(width, request.seed, 0x57e7);
    Result result;
    add_norms(result, {&x, &large});
    add_scale(result, x);
    add_collisions(result);
    add_near_collisions(result);
    return result;
}

} // namespace stretch_file

const Experiment stretch_experiment{
    .name = "stretch",
    .summary = "What does a norm leave of rotate-and-stretch?",
    .details = "A random embedding of width 128 at positions a period apart, before and after RMSNorm and LayerNorm; "
               "its length by position; angles of pairs of positions; near-collisions of the sinusoidal table.",
    .answer = "A norm removes the stretch: positions one turn apart, such as 0 and 36, become the same vector (cosine "
              "{:after-norm/1/cosine_after_rms|8}). Attention after a norm confuses each position with the positions "
              "36, 72, ... later.",
    .notes = {"A model with this encoding can still learn order from the causal mask, and from the residual stream, "
              "which keeps the stretched rows next to the results of the normed ones."},
    .run = stretch_file::run};

} // namespace ordo::lab
