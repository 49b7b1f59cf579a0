// SPDX-License-Identifier: MIT
// Cells of the tables and pictures of experiments, with their values by the papers' formulas, worked out here, or as
// printed in papers and introductory texts.
#include "tests/lab/lab_run.h"
#include "tests/words.h"
#include "tools/lab/drawing/render.h"

#include <map>
#include <numbers>

namespace ordo::lab::test {
namespace {

constexpr double pi = std::numbers::pi, infinity = HUGE_VAL;

// The ends of a range, or a text.
struct Value {
    double least = 0, most = 0;
    const char* text = nullptr;
};
Value near(double value, double tolerance = 0) {
    return {value - tolerance, value + tolerance};
}
Value below(double most) {
    return {-infinity, most};
}
Value above(double least) {
    return {least, infinity};
}
Value is(const char* text) {
    return {.text = text};
}
const Value blank{std::nan(""), std::nan("")};

struct Expected {
    const char *run, *table; // an experiment with its options, and one of its tables or pictures
    const char* row;         // a number, "*" for all rows, or the first row with such cells: "series=rope;x=2"
    const char* column;
    Value value;
};

double power(double exponent) {
    return std::pow(10000.0, exponent);
}
double wave(int position, int column, int d) {
    const double angle = position * power((column % 2 - column) / static_cast<double>(d));
    return column % 2 == 0 ? std::sin(angle) : std::cos(angle);
}
// The mean cosine of `pairs` pairs at a distance.
double aligned(double distance, double theta = 10000, int pairs = 64) {
    double mean = 0;
    for (int k = 0; k < pairs; ++k) mean += std::cos(distance * std::pow(theta, -k / double(pairs))) / pairs;
    return mean;
}
// |PE(p) - PE(p + offset)| at width 8, over sqrt(8).
double apart(int offset) {
    return std::sqrt(2 * (1 - aligned(offset, 10000, 4)) * 4 / 8);
}
constexpr const char *nope = "nope --model weights/none.safetensors --model weights/sinusoidal.safetensors --corpus "
                             "weights/heldout.txt",
                     *scale = "scale --model weights/sinusoidal.safetensors",
                     *pairings = "pairings --model weights/rope.safetensors --corpus weights/heldout.txt",
                     *precision = "precision --model weights/rope.safetensors --corpus weights/heldout.txt",
                     *padding = "padding --model weights/rope.safetensors --model weights/learned.safetensors --corpus "
                                "weights/heldout.txt",
                     *swap = "swap --model weights/rope.safetensors --model weights/none.safetensors --corpus "
                             "weights/heldout.txt";

const Expected cells[] = {
    // The sinusoidal table; its slowest pair leaves its start far from position 0.
    {"heat-map", "128x8", "127", "0", near(wave(127, 0, 8), 1e-12)},
    {"heat-map", "128x8", "64", "5", near(wave(64, 5, 8), 1e-12)},
    {"heat-map", "100x512-from-50000", "0", "position", near(50000)},
    {"heat-map", "100x512-from-50000", "99", "510", near(wave(50099, 510, 512), 1e-9)},
    {"heat-map", "last-pair", "0", "most", near(0.0103, 5e-5)},
    {"heat-map", "last-pair", "1", "least", near(0.99995, 5e-6)},
    {"heat-map", "last-pair", "2", "least", near(std::sin(5000 * power(-510 / 512.0)), 1e-9)},
    {"heat-map", "last-pair", "4", "most", below(-0.8)},
    {"heat-map", "columns-128x8", "0", "sign changes", near(40)}, // sin p, at each multiple of pi up to 127 = 40.4 pi
    {"heat-map", "columns-128x8", "6", "sign changes", near(0)},
    // "transformers are awesome": four columns at positions 0, 1, 2, after 4 curves of 32 points.
    {"waves", "4-dimensions", "128", "y", near(0)},
    {"waves", "4-dimensions", "132", "y", near(.8415, 6e-5)},
    {"waves", "4-dimensions", "137", "y", near(-.4161, 6e-5)},
    {"waves", "4-dimensions", "139", "y", near(.9998, 6e-5)},
    {"waves", "4-dimensions", "139", "x", near(2)},
    {"waves", "properties", "*", "norm^2 off by", below(1e-12)},
    {"waves", "properties", "*", "off longer table", near(0)},
    {"waves", "properties", "*", "equal rows", near(0)},
    {"waves", "properties", "*", "off rotated by 17", below(1e-12)},
    {"waves", "transposed", "3", "7", near(wave(7, 3, 8), 1e-12)},
    {"waves", "odd-dimensions", "series=position 50;x=9", "y", near(wave(50, 9, 512), 1e-12)},
    {"waves", "angles", "series=position 1;x=510", "y", near(power(-510 / 512.0), 1e-16)},
    {"waves", "angles", "series=position 99;x=14", "y", near(99 * power(-14 / 512.0), 1e-10)},
    {"waves", "each-position", "series=position 10;x=40", "y", near(5 + wave(10, 40, 512), 1e-12)},
    {"waves", "asking", "series=width 512;x=5", "y", near(1, 1e-9)},
    {"waves", "asking", "series=width 512;x=0", "y", near(aligned(5, 10000, 256), 1e-9)},
    {"waves", "asking", "series=width 512;x=64", "y", near(aligned(59, 10000, 256), 1e-9)},
    {"waves", "all-dimensions", "x=100", "y", near(wave(50, 100, 512), 1e-12)},
    {"waves", "all-dimensions", "x=511", "y", near(wave(50, 511, 512), 1e-12)},
    {"division-term", "forms", "*", "k = 0", near(1)},
    {"division-term", "forms", "*", "largest relative difference", below(1e-14)},
    {"division-term", "forms", "0", "the last", near(0.01, 1e-12)},
    {"division-term", "forms", "1", "the last", near(1 / 464.1588834, 1e-9)},
    {"division-term", "forms", "3", "the last", near(power(-62 / 64.0), 1e-12)},
    {"division-term", "forms", "4", "the last", near(1.0366e-4, 1e-8)},
    {"division-term --dim 10", "forms", "4", "the last", near(power(-0.8), 1e-12)},
    // The values of an image with the same arrows, to two digits.
    {"circle", "tips", "*", "distance from (1, 1), less 1", near(0, 1e-15)},
    {"circle", "tips", "0", "x", near(1.84, 0.0051)},
    {"circle", "tips", "0", "y", near(1.54, 0.0051)},
    {"circle", "tips", "3", "x", near(.24, 0.0051)},
    {"circle", "tips", "4", "y", near(1.28, 0.0051)},
    {"circle", "tips", "7", "x", near(1.99, 0.0051)},
    {"circle", "tips", "7", "y", near(.85, 0.0051)},
    {"circle", "tips", "0", "turned by, radians", blank},
    {"circle", "tips", "1", "turned by, radians", near(-1, 1e-14)},
    {"circle", "tips", "7", "turned by, radians", near(-1, 1e-14)},
    // Distances by offset; t-SNE's clusters come from 6 and 63.
    {"clusters", "distance", "series=8 dimensions;x=1", "y", near(.9641 / std::sqrt(8), 2e-5)},
    {"clusters", "distance", "series=8 dimensions;x=63", "y", near(.6453 / std::sqrt(8), 2e-5)},
    {"clusters", "distance", "series=8 dimensions, 6 and 63;x=6", "y", near(apart(6), 1e-9)},
    {"clusters", "distance", "series=8 dimensions, 6 and 63;x=63", "y", near(apart(63), 1e-9)},
    {"clusters", "nearest", "0", "nearest", near(63)},
    {"clusters", "nearest", "0", "second", near(6)},
    {"clusters", "nearest", "0", "nearest row, by offset", is("63 (128 rows)")},
    {"clusters", "nearest", "1", "nearest", near(1)},
    {"clusters", "nearest", "2", "nearest", near(1)},
    {"clusters", "nearest", "*", "spread within an offset", below(1e-12)},
    // ALiBi's published slopes, and the shapes of decay of head 1 of 3, whose slope is 2^-8.
    {"slopes", "slopes", "7", "m0", near(0.5)},
    {"slopes", "slopes", "7", "m7", near(1 / 256.0)},
    {"slopes", "slopes", "11", "m8", near(.7071, 5e-5)},
    {"slopes", "slopes", "11", "m11", near(.0884, 5e-5)},
    {"slopes", "worked", "2", "key 0", near(-1)}, // head 0 of 8: half of the distance 2
    {"slopes", "worked", "0", "key 1", is("masked")},
    {"slopes --heads 3 --length 5", "head-2", "4", "0", near(-1, 1e-12)}, // the third of 3 heads has 2^-2
    {"slopes --heads 3 --length 5", "head-2", "3", "4", blank},
    {"slopes --heads 3 --length 5", "weight", "series=head 2;x=3", "y", near(std::exp(-0.75), 1e-12)},
    {"slopes --heads 3 --length 5", "shapes", "series=root;x=4", "y", near(std::exp(-1 / 128.0), 1e-12)},
    {"slopes --heads 3 --length 5", "shapes", "series=linear, ALiBi;x=4", "y", near(std::exp(-1 / 64.0), 1e-12)},
    {"slopes --heads 3 --length 5", "shapes", "series=square;x=4", "y", near(std::exp(-1 / 16.0), 1e-12)},
    {"slopes --heads 3 --length 5", "shapes", "series=grows exponentially, e^(D/2) - 1;x=4", "y",
     near(std::exp(-(std::exp(2.0) - 1) / 256), 1e-12)},
    {"slopes --heads 3 --length 5", "shapes", "series=nears the slope, 1 - e^(-D/2);x=4", "y",
     near(std::exp(-(1 - std::exp(-2.0)) / 256), 1e-12)},
    {"slopes --heads 9 --length 3", "head-8", "1", "0", near(-std::sqrt(0.5), 1e-7)}, // the steepest: 2^-0.5
    {"slopes --heads 9 --length 3", "head-7", "1", "0", near(-1 / 256.0, 1e-9)},      // the flattest
    {"angles", "cosines", "9", "32", near(std::cos(9 * 0.01), 1e-12)},
    {"angles", "frequencies", "2", "positions_per_turn", near(2 * pi * 10, 1e-9)}, // pair 16 of 64
    {"angles", "frequencies", "pair=63", "frequency", near(power(-63 / 64.0), 1e-12)},
    // The extent of each kind of number, without the column of positions.
    {"tables --encodings none;rope;rotate-stretch --length 37", "tables", "table=rope-cos", "most", near(1)},
    {"tables --encodings none;rope;rotate-stretch --length 37", "tables", "table=rope-angle", "most", near(36)},
    {"tables --encodings none;rope;rotate-stretch --length 37", "tables", "table=rotate-stretch-scale", "most",
     near(0.2, 1e-12)},
    {"tables --encodings none;rope;rotate-stretch --length 37", "rotate-stretch-angle", "x=3", "y",
     near(2 * pi * 3 / 36, 1e-12)},
    // Two specs of one name.
    {"tables --encodings rotate-stretch:period=6;rotate-stretch:period=36 --length 8", "rotate-stretch-scale", "x=7",
     "y", near(0.2, 1e-12)},
    {"tables --encodings rotate-stretch:period=6;rotate-stretch:period=36 --length 8", "rotate-stretch-2-scale", "x=7",
     "y", near(0.1, 1e-12)},
    // Su et al. 2021, eq. 16: the identity is exact, the other sign gives another matrix, and the printed product with
    // projections lacks a transpose.
    {"rotary", "product", "*", "against_R_(j-i)", below(1e-12)},
    {"rotary", "product", "*", "against_R_(i-j)", {0.1, 2 + 1e-12}},
    {"rotary", "corrected", "*", "off_corrected", near(0, 1e-12)},
    {"rotary", "distance", "distance=1", "aligned_mean_cos", near(aligned(1), 6e-4)},
    {"rotary", "distance", "distance=100", "aligned_mean_cos", near(.477, 6e-4)},
    {"rotary", "distance", "distance=1000", "aligned_mean_cos", near(.159, 6e-4)},
    {"rotary", "distance", "distance=1", "bound_mean_abs_S", near(31.5, 0.06)},
    {"rotary", "distance", "distance=20", "bound_mean_abs_S", near(15.2, 0.06)},
    {"rotary", "distance", "distance=1000", "bound_mean_abs_S", near(4.5, 0.06)},
    {"rotary", "distance", "*", "random_mean", near(0, 1.8)}, // 5 standard errors of 1,000 draws
    {"rotary", "distance", "*", "random_sd", near(std::sqrt(128.0), 1.5)},
    {"rotary", "decay", "series=q = k;x=1", "y", near(aligned(1), 6e-4)},
    {"rotary", "decay", "series=RoFormer's bound;x=1", "y", near(31.5, 0.06)}, // above the score
    {"rotary", "bases", "series=theta = 100;x=10", "y", near(aligned(10, 100), 1e-5)},
    {"rotary", "bases", "series=theta = 10000;x=10", "y", near(aligned(10), 1e-5)},
    {"rotary", "bases", "series=theta = 1000000;x=1", "y", near(aligned(1, 1e6), 1e-5)},
    {"rotary", "positive-exponent", "2", "frequency", near(0.01, 1e-12)},
    {"rotary", "positive-exponent", "3", "exponent_positive", near(1000, 1e-9)},
    {"rotary", "positive-exponent", "1", "of_which_after_whole_turns", near(-2.566, 6e-4)},
    {"rotary", "positive-exponent", "3", "of_which_after_whole_turns", near(.974, 6e-4)},
    // A second turn doubles the length, and a norm divides by it. Positions a period apart meet; waves nearly do at 44
    // and 710, which are near 7 and 113 periods.
    {"stretch", "after-norm", "*", "ratio_before", near(2, 1e-5)},
    {"stretch", "after-norm", "*", "cosine_after_rms", above(0.999999)},
    {"stretch", "after-norm", "*", "cosine_after_layer", above(0.999999)},
    {"stretch", "after-norm", "*", "ratio_after_rms", near(1, 0.1)},
    {"stretch", "after-norm", "1", "ratio_after_rms", near(1, 1e-5)}, // of a long embedding
    {"stretch", "after-norm", "1", "ratio_after_layer", near(1, 1e-5)},
    {"stretch", "collisions", "position=0;other=36", "apart", near(0)},
    {"stretch", "collisions", "position=1;other=37", "apart", near(0)},
    {"stretch", "collisions", "position=1;other=36", "apart", near(2 * pi / 36, 1e-9)},
    {"stretch", "collisions", "position=1;other=6", "apart", near(2 * pi / 6, 1e-9)},
    {"stretch", "collisions", "position=1;other=7", "apart", near(2 * pi / 6, 1e-9)}, // 6 of 36 parts of a turn
    {"stretch", "collisions", "encoding=rotate-stretch:period=6;position=1;other=7", "apart", near(0)},
    {"stretch", "scale", "0", "after_over_before", near(0.1, 0.02)},
    {"stretch", "near-collisions", "offset=44", "pair_0_off_by_radians", near(.0177, 5e-5)},
    {"stretch", "near-collisions", "offset=710", "pair_0_off_by_radians", near(6.0e-5, 5e-7)},
    {"stretch", "near-collisions", "offset=710", "row_distance_width_128", above(1)},
    // Worked examples, as printed.
    {"worked-examples", "width-4", "1", "dim0", near(.8415, 5.1e-5)},
    {"worked-examples", "width-4", "2", "dim1", near(-.4161, 5.1e-5)},
    {"worked-examples", "width-4", "2", "dim2", near(.0200, 5.1e-5)},
    {"worked-examples", "denominators", "1", "denominator", near(21.5443, 1e-4)},
    {"worked-examples", "denominators", "2", "denominator", near(464.1590, 1e-3)},
    {"worked-examples", "width-6-stack", "28", "position", near(9)}, // [10, 3, 2]: position 9, pair 1
    {"worked-examples", "width-6-stack", "28", "sin", near(.4057, 5.1e-5)},
    {"worked-examples", "width-6-stack", "28", "cos", near(.9140, 5.1e-5)},
    {"worked-examples", "width-6", "9", "dim1", near(-.9111, 5.1e-5)},
    {"worked-examples", "width-6", "9", "dim5", near(.9998, 5.1e-5)},
    {"worked-examples", "class-test", "2", "dim0", near(-9.9749e-01, 1e-5)}, // its own table, row 1
    {"worked-examples", "class-test", "2", "dim10", near(4.6416e-20, 1e-24)},
    {"worked-examples", "class-test", "8", "dim2", near(1.8566e-03, 1e-7)},
    {"worked-examples", "class-test", "3", "dim0", near(.8415, 5.1e-5)}, // the correct table, which has 6 columns
    {"worked-examples", "class-test", "3", "dim6", blank},
    {"worked-examples", "segments", "position=2;vector=p", "dim0", near(std::sin(2.0), 1e-6)},
    {"worked-examples", "learned-start", "0", "most", near(1 / std::sqrt(10), 1e-3)}, // U(-1/sqrt 10, 1/sqrt 10)
    {"worked-examples", "learned-start", "0", "least", near(-1 / std::sqrt(10), 1e-3)},
    {"worked-examples", "learned-start", "0", "deviation", near(1 / std::sqrt(30), 2e-3)},
    {"worked-examples", "shapes", "0", "shape", is("(128, 1, 8)")},
    {"worked-examples", "shapes", "1", "shape", is("(256)")},
    {"worked-examples", "shapes", "2", "shape", is("(100, 512)")},
    {"worked-examples", "shapes", "4", "shape", is("(10, 3, 2)")},
    {"worked-examples", "shapes", "5", "shape", is("(10, 6)")},
    {"worked-examples", "shapes", "6", "shape", is("(10, 12)")}, // of the notebook's class
    // |PE| = sqrt(d/2), and |e| = 1 for N(0, 1/d), or sqrt(d) with the scale.
    {scale, "lengths", "width=512", "waves", near(16, 1e-9)},
    {scale, "lengths", "width=8", "waves", near(2, 1e-9)},
    {scale, "lengths", "width=512", "waves_over_embedding", near(16, 1.6)},
    {scale, "lengths", "*", "waves_over_scaled", near(1 / std::sqrt(2), 0.08)},
    {scale, "trained", "0", "added", near(8, 1e-5)}, // sqrt(128 / 2)
    // Sets of rows are equal without position and differ with it. One causal layer without position is a bag of words.
    {"order", "rows", "pair=1;encoding=none", "rows_differ", near(0)},
    {"order", "rows", "pair=2;encoding=segment", "rows_differ", near(0)},
    {"order", "rows", "pair=1;encoding=rope", "rows_differ", near(0)},
    {"order", "rows", "pair=1;encoding=sinusoidal", "rows_differ", above(1e-3)},
    {"order", "rows", "pair=2;encoding=rotate-stretch", "rows_differ", above(1e-3)},
    {"order", "rows", "pair=1;encoding=none", "one_layer_logits_differ", below(1e-4)},
    {"order", "rows", "pair=1;encoding=rope", "one_layer_logits_differ", above(1e-3)},
    {"order", "rows", "pair=2;encoding=alibi", "one_layer_logits_differ", above(1e-3)},
    // Hand-set weights count tokens and measure distances; a linear probe reads added waves at once.
    {nope, "count", "tokens=1", "state", near(1, 1e-6)},
    {nope, "count", "tokens=1000", "state", near(1e-3, 1e-9)},
    {nope, "count", "tokens=100", "position", near(100, 1e-3)},
    {nope, "count", "tokens=1000", "position", near(1000, 1e-2)},
    {nope, "distance", "*", "off_alibi", below(1e-4)},
    {nope, "distance", "tokens=2", "off_content", above(1e-2)},
    {nope, "distance", "tokens=100", "off_content", above(1e-2)},
    {nope, "bag-of-words", "layers=1;encoding=none", "logits_differ_by", below(1e-4)},
    {nope, "bag-of-words", "layers=1;encoding=segment", "logits_differ_by", below(1e-4)},
    {nope, "bag-of-words", "layers=1;encoding=rope", "logits_differ_by", above(1e-2)},
    {nope, "bag-of-words", "layers=1;encoding=learned", "logits_differ_by", above(1e-2)},
    {nope, "bag-of-words", "layers=2;encoding=none", "logits_differ_by", above(1e-2)},
    {nope, "bag-of-words", "layers=4;encoding=none", "logits_differ_by", above(1e-2)},
    {nope, "probe", "*", "mean_guess", near(64, 1e-9)}, // 0 .. 255 are 64 away from their mean
    {nope, "probe", "model=sinusoidal;layer=0", "mean_absolute_error", below(20)},
    {nope, "probe", "model=none;layer=0", "mean_absolute_error", above(55)},
    {nope, "probe", "model=none;layer=3", "mean_absolute_error", below(45)},
    {swap, "pairs", "trained_with=rope;run_with=rope", "nll_over_own", near(0)},
    {swap, "pairs", "trained_with=rope;run_with=none", "nll_over_own", above(0.5)},
    {swap, "pairs", "trained_with=none;run_with=rope", "nll_over_own", above(0.1)},
    {swap, "refused", "trained_with=none;run_with=learned", "run_with", is("learned")},
    // R(1) of two pairs, 1 and 1/100, in both layouts. Permuted rows are the same model; a mixed-up file is not, after
    // its first token.
    {pairings, "matrices", "0", "neighbours 0", near(std::cos(1.0), 1e-6)},
    {pairings, "matrices", "0", "1", near(-std::sin(1.0), 1e-6)},
    {pairings, "matrices", "0", "2 ", near(-std::sin(1.0), 1e-6)},
    {pairings, "matrices", "3", "1 ", near(std::sin(0.01), 1e-6)},
    {pairings, "ways", "*", "first_logits_differ", below(1e-4)},
    {pairings, "ways", "1", "last_logits_differ", below(1e-4)},
    {pairings, "ways", "1", "nll_more", near(0, 1e-5)},
    {pairings, "ways", "2", "nll_more", above(0.5)},
    {pairings, "ways", "3", "nll_more", above(0.5)},
    // 8 bits of bf16 are off by up to 1/512 in p, in w and in the product; f32 by 2^-24 in w and in the product.
    {precision, "angles", "position=255", "bf16", near(255 * 1.5 / 256, 255 * 1.5 / 256)},
    {precision, "angles", "position=255", "bf16_positions", near(0, 1e-4)}, // all of these are values of bf16
    {precision, "angles", "position=4095", "bf16_positions", near(8, 0.5)}, // steps of 16
    {precision, "angles", "position=1048575", "f32", near(0.0625, 0.0625)},
    {precision, "angles", "position=131071", "f16", blank},
    {precision, "losses", "angles=f64;end=4096", "nll_more", near(0, 1e-4)},
    {precision, "losses", "angles=f32;end=4096", "nll_more", near(0, 1e-3)},
    {precision, "losses", "angles=bf16 positions;end=256", "nll_more", near(0, 1e-4)},
    {precision, "losses", "angles=bf16 positions;end=1024", "nll_more", above(0.1)},
    {precision, "losses", "angles=bf16 angles;end=4096", "nll_more", above(0.2)},
    {padding, "variation", "model=rope;pads=32;mask=yes;positions=from the prompt", "variation", below(1e-5)},
    {padding, "variation", "model=rope;pads=128;mask=yes;positions=from the pads", "variation", below(1e-3)},
    {padding, "variation", "model=learned;pads=32;mask=yes;positions=from the prompt", "variation", below(1e-5)},
    {padding, "variation", "model=learned;pads=32;mask=yes;positions=from the pads", "variation", above(0.1)},
    {padding, "variation", "model=rope;pads=32;mask=no;positions=from the pads", "variation", above(0.05)},
    // A bias of |i - j| hides the direction; a rotation, or a bias of i - j, does not. A fraction fits one length.
    {"encoders", "right", "encoding=alibi", "right", below(0.75)},
    {"encoders", "right", "encoding=none", "right", below(0.3)},
    {"encoders", "right", "encoding=t5", "right", above(0.9)},
    {"encoders", "right", "encoding=rope", "right", above(0.9)},
    {"encoders", "right", "encoding=rope+alibi", "right", above(0.9)},
    // A value that is rotated and not rotated back carries its absolute position, of which training had 0 to 31.
    {"values", "right", "rotated=queries and keys;shift=10000", "right", above(0.9)},
    {"values", "right", "rotated=values too;shift=0", "right", above(0.5)},
    {"values", "right", "rotated=values too;shift=10000", "right", below(0.5)},
    {"values", "right", "rotated=values too, output back;shift=10000", "right", above(0.9)},
};

const Result& result_of(const std::string& line) {
    static std::map<std::string, Result> results;
    const auto [at, fresh] = results.try_emplace(line);
    if (fresh) {
        const std::vector<std::string> words = ordo::test::words_in(line);
        std::vector<const char*> options;
        for (std::size_t i = 1; i < words.size(); ++i) options.push_back(words[i].c_str());
        at->second = run(words[0], options);
    }
    return at->second;
}

class LabCells : public testing::TestWithParam<std::string> {};

TEST_P(LabCells, AreAsWorkedOut) {
    const Result& result = result_of(GetParam());
    for (const Expected& one : cells) {
        if (GetParam() != one.run) continue;
        SCOPED_TRACE(std::string(one.table) + ", " + one.row + ", " + one.column);
        const tools::Figures figures = numbers_of(result, one.table);
        const std::vector<std::size_t> rows = rows_of(figures, one.row);
        EXPECT_FALSE(rows.empty());
        for (const std::size_t row : rows) {
            const tools::Cell& cell = figures.rows[row].at(column(figures, one.column));
            if (one.value.text) {
                EXPECT_EQ(cell, tools::Cell(one.value.text));
            } else if (std::isnan(one.value.least)) {
                EXPECT_TRUE(std::isnan(number(cell)));
            } else {
                EXPECT_GE(number(cell), one.value.least);
                EXPECT_LE(number(cell), one.value.most);
            }
        }
    }
}

std::vector<std::string> runs() {
    std::vector<std::string> all;
    for (const Expected& one : cells)
        if (all.empty() || all.back() != one.run) all.emplace_back(one.run);
    return all;
}

INSTANTIATE_TEST_SUITE_P(Experiments, LabCells, testing::ValuesIn(runs()), [](const auto& run) {
    std::string name = run.param.substr(0, run.param.find(' ')) + std::to_string(run.index);
    std::erase(name, '-');
    return name;
});

} // namespace
} // namespace ordo::lab::test
