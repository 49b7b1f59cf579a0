// SPDX-License-Identifier: MIT
// Compares FIRE with the network of its paper, written out here, on both sides of its threshold.
#include "tests/encoding/bias_formula.h"

#include <cmath>

namespace ordo {
namespace fire_test {

constexpr int heads = 3;

Dims dims(Mask mask = Mask::causal) {
    return {.d_model = 24, .n_heads = heads, .d_head = 8, .n_layers = 2, .context = 64, .mask = mask};
}

// f_h(x): one hidden layer.
double network(const LayerParameters& p, int head, double x) {
    const std::size_t width = p[2].size();
    double out = p[5][head];
    for (std::size_t w = 0; w < width; ++w)
        out += p[4][static_cast<std::size_t>(head) * width + w] * std::max(p[2][w] * x + p[3][w], 0.0);
    return out;
}

double fraction(const LayerParameters& p, double threshold, int i, int j) {
    const double c = std::fabs(p[0][0]);
    const double most = std::max({std::fabs(p[1][0]) * threshold, double(i), double(j)});
    return std::log(c * std::abs(double(i) - j) + 1) / (std::log(c * most + 1) + 1e-6);
}

BiasFormula formula(double threshold) {
    return [=](const LayerParameters& p, int head, int i, int j) {
        return network(p, head, fraction(p, threshold, i, j));
    };
}

// Units that switch on, switch off, are always on, are always off, ignore x, or start at 0, and two that switch on at
// the same point.
void set_difficult_units(BoundEncoding& encoding) {
    for (int layer = 0; layer < 2; ++layer) {
        encoding.set(layer, 2, {1, -1, 0.5, -0.5, 0, 0, 2, -2, 1, 0.75});
        encoding.set(layer, 3, {-0.3, 0.6, 0.2, -0.2, 0.4, -0.4, 0, 0, -0.3, -0.225});
    }
}

TEST(Fire, IsTheFormulaOnBothSidesOfTheThreshold) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional})
        for (const int prepared : {0, 7, 64, 400}) {
            BoundEncoding encoding("fire:threshold=40", dims(mask), prepared);
            encoding.set(1, 0, {-0.7}); // |c|
            encoding.set(1, 1, {-1.3}); // |l|
            expect_bias(encoding, positions_from(0, 30), positions_from(0, 30), formula(40));
            expect_bias(encoding, positions_from(30, 30), positions_from(0, 60), formula(40)); // across the threshold
            expect_bias(encoding, {300}, positions_from(0, 301), formula(40));
            expect_bias(encoding, {5, 300, 6}, {300, 2, 2, 250, 6, 7}, formula(40));
            expect_bias(encoding, {2000000000}, {0, 1999999990, 2000000000}, formula(40));
        }
}

TEST(Fire, TheTableIsTheClosedForm) {
    const BoundEncoding prepared("fire", dims(Mask::bidirectional), 64), closed("fire", dims(Mask::bidirectional), 0);
    Tensor a = prepared.bias(1, 2, positions_from(3, 4), positions_from(0, 64));
    Tensor b = closed.bias(1, 2, positions_from(3, 4), positions_from(0, 64));
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]);
}

TEST(Fire, AnyUnitsAreTheNetwork) {
    BoundEncoding encoding("fire:threshold=40,width=10", dims(), 40);
    set_difficult_units(encoding);
    expect_bias(encoding, positions_from(0, 60), positions_from(0, 60), formula(40));
    const Table table = encoding->table({.length = 1001, .part = "function", .layer = 1});
    for (const std::vector<double>& row : table.rows)
        for (int head = 0; head < heads; ++head)
            ASSERT_NEAR(row[static_cast<std::size_t>(head) + 1], network(encoding.parameters(1), head, row[0]), 1e-12);
}

TEST(Fire, GradientsAreCentralDifferencesOnBothSidesOfTheThreshold) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional}) {
        BoundEncoding encoding("fire:threshold=40,width=6", dims(mask), 40);
        encoding.set(1, 0, {-0.7});
        encoding.set(1, 1, {-1.31});
        expect_gradients(encoding, positions_from(0, 30), positions_from(0, 30), formula(40));
        expect_gradients(encoding, positions_from(20, 50), positions_from(0, 70),
                         formula(40)); // 40 is at the threshold
        expect_gradients(encoding, {7, 900, 3, 40}, {2, 3, 3, 41, 7, 600}, formula(40));
    }
}

TEST(Fire, AnyUnitsHaveTheirGradients) {
    BoundEncoding encoding("fire:threshold=40,width=10", dims(), 40);
    set_difficult_units(encoding);
    for (int layer = 0; layer < 2; ++layer) // no kink at x = 0, which is the query itself
        encoding.set(layer, 3, {-0.3, 0.6, 0.2, -0.2, 0.4, -0.4, 0.01, -0.01, -0.3, -0.225});
    expect_gradients(encoding, positions_from(0, 30), positions_from(0, 30), formula(40));
    expect_gradients(encoding, positions_from(41, 30), positions_from(0, 70), formula(40));
}

// Up to the threshold the bias depends on the distance alone. Beyond it, the bias also depends on the position.
TEST(Fire, IsShiftInvariantUpToTheThreshold) {
    BoundEncoding encoding("fire:threshold=40", dims(), 100);
    EXPECT_FALSE(encoding->shift_invariant());
    EXPECT_EQ(encoding->shift_invariant_below(), 41);
    const auto bias = [&](int from) { return encoding.bias(0, 1, {from + 10}, positions_from(from, 11)); };
    Tensor first = bias(0), last = bias(30), beyond = bias(31), far = bias(500);
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first.data()[i], last.data()[i]);
    double change = 0, far_change = 0;
    for (std::size_t i = 0; i < first.size(); ++i) {
        change = std::max(change, std::fabs(double(first.data()[i]) - beyond.data()[i]));
        far_change = std::max(far_change, std::fabs(double(first.data()[i]) - far.data()[i]));
    }
    EXPECT_GT(change, 0);
    EXPECT_LT(change, 0.01); // the bias is continuous
    EXPECT_GT(far_change, change);
    encoding.set(1, 1, {0.5f}); // the least threshold of all layers
    EXPECT_EQ(encoding->shift_invariant_below(), 21);
    for (const double endless : {1e30, double(INFINITY), double(NAN)}) { // no int holds them
        encoding.set(0, 1, {endless});
        encoding.set(1, 1, {endless});
        EXPECT_EQ(encoding->shift_invariant_below(), std::numeric_limits<int>::max());
    }
}

// With c near 0 the logarithm is linear, and a single unit gives a slope.
TEST(Fire, CanBeAlibi) {
    const BoundEncoding alibi("alibi", dims());
    BoundEncoding fire("fire:threshold=80,width=1", dims(), 80);
    const double c = static_cast<float>(1e-6);
    std::vector<double> weights;
    for (const std::vector<double>& row : alibi->table({.part = "slopes"}).rows)
        weights.push_back(-row[1] * (std::log1p(80 * c) + 1e-6) / c);
    for (std::size_t t = 0; t < 6; ++t)
        fire.set(0, t,
                 t == 0             ? std::vector<double>{c}
                 : t == 1 || t == 2 ? std::vector<double>{1}
                 : t == 4           ? weights
                                    : std::vector<double>(t == 5 ? heads : 1));
    for (int head = 0; head < heads; ++head) {
        Tensor a = fire.bias(0, head, positions_from(20, 60), positions_from(0, 80));
        Tensor b = alibi.bias(0, head, positions_from(20, 60), positions_from(0, 80));
        for (int i = 0; i < 60; ++i)
            for (int j = 0; j <= 20 + i; ++j)
                EXPECT_NEAR(a.view().row(i)[j], b.view().row(i)[j], 1e-4 * std::fabs(b.view().row(i)[j]));
    }
}

TEST(Fire, FollowsItsTensors) {
    BoundEncoding encoding("fire:threshold=40", dims(), 64);
    encoding.set(0, 0, {0.3});
    encoding.set(0, 5, {1, 2, 3});
    expect_bias(encoding, positions_from(35, 10), positions_from(0, 45), formula(40));
    encoding.set(0, 1, {0.25});
    expect_bias(encoding, positions_from(35, 10), positions_from(0, 45), formula(40));
}

// The initial values of the reference in the paper's appendix: c 0.1, l 1, and the ranges of torch.nn.Linear.
TEST(Fire, StartsAsTheReference) {
    const auto encoding = std::move(make_encodings("fire", dims()).at(0));
    EXPECT_EQ(encoding->spec(), "fire:threshold=64,width=32");
    const std::vector<TensorSpec> tensors = encoding->tensors();
    const char* names[] = {"c", "l", "in.weight", "in.bias", "out.weight", "out.bias"};
    ASSERT_EQ(tensors.size(), 6u);
    for (std::size_t t = 0; t < 6; ++t) {
        EXPECT_EQ(tensors[t].name, names[t]);
        EXPECT_TRUE(tensors[t].per_layer);
    }
    EXPECT_EQ(tensors[0].initial.a, 0.1f);
    EXPECT_EQ(tensors[1].initial.a, 1);
    EXPECT_EQ(tensors[2].initial.b, 1);
    EXPECT_FLOAT_EQ(tensors[4].initial.b, 1 / std::sqrt(32.0f));
    EXPECT_EQ(tensors[4].shape, (std::vector<std::int64_t>{heads, 32}));
}

TEST(Fire, ShowsItsTable) {
    BoundEncoding encoding("fire:threshold=40", dims(), 8);
    const Table table = encoding->table({.length = 3, .start = 39, .head = 2, .layer = 1});
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const double found = table.rows[i][j];
            const double expected = j > i ? -INFINITY : formula(40)(encoding.parameters(1), 2, 39 + i, 39 + j);
            EXPECT_TRUE(found == expected || std::fabs(found - expected) < 1e-12);
        }
    EXPECT_THROW(encoding->table({.head = 3}), Error);
    EXPECT_THROW(std::move(make_encodings("fire", dims()).at(0))->table({}), Error); // without weights
    EXPECT_THROW(make_encodings("fire:width=0", dims()), Error);
    EXPECT_THROW(make_encodings("fire:threshold=0", dims()), Error);
}

} // namespace fire_test
} // namespace ordo
