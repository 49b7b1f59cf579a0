// SPDX-License-Identifier: MIT
// Compares KERPLE with the kernels of its paper, within the bounds of the authors' code.
#include "tests/encoding/bias_formula.h"

#include <cmath>
#include <tuple>

namespace ordo {
namespace kerple_test {

Dims dims(Mask mask = Mask::causal) {
    return {.d_model = 24, .n_heads = 3, .d_head = 8, .n_layers = 2, .context = 64, .mask = mask};
}

double clamped(double value, double least, double most) {
    return std::min(std::max(value, least), most);
}

double log_kernel(const LayerParameters& parameters, int head, int i, int j) {
    const auto h = static_cast<std::size_t>(head);
    const double a = clamped(parameters[0][h], 0.01, 1e30), b = clamped(parameters[1][h], 0.01, 1e30);
    return -a * std::log(1 + b * std::abs(double(i) - j));
}

double power_kernel(const LayerParameters& parameters, int head, int i, int j) {
    const auto h = static_cast<std::size_t>(head);
    const double a = clamped(parameters[0][h], 0.01, 1e30), b = clamped(parameters[1][h], 0.01, 2);
    return i == j ? 0 : -a * std::pow(std::abs(double(i) - j), b);
}

struct Case {
    const char* spec;
    BiasFormula formula;
};
const Case kernels_of_the_paper[] = {{"kerple:kernel=log", log_kernel}, {"kerple:kernel=power", power_kernel}};

TEST(Kerple, IsTheFormulaWhateverIsPrepared) {
    for (const auto& [spec, formula] : kernels_of_the_paper)
        for (const Mask mask : {Mask::causal, Mask::bidirectional})
            for (const int prepared : {0, 7, 400}) {
                BoundEncoding encoding(spec, dims(mask), prepared);
                expect_bias(encoding, positions_from(0, 20), positions_from(0, 20), formula);
                expect_bias(encoding, {300}, positions_from(0, 301), formula);
                expect_bias(encoding, {5, 300, 6}, {300, 2, 2, 250, 6, 7}, formula);
                expect_bias(encoding, {2000000000}, {0, 1999999990, 2000000000}, formula);
            }
}

TEST(Kerple, TheTableIsTheClosedForm) {
    for (const auto& [spec, formula] : kernels_of_the_paper) {
        const BoundEncoding prepared(spec, dims(Mask::bidirectional), 500), closed(spec, dims(Mask::bidirectional), 0);
        Tensor a = prepared.bias(1, 2, positions_from(3, 4), positions_from(0, 400));
        Tensor b = closed.bias(1, 2, positions_from(3, 4), positions_from(0, 400));
        for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]);
    }
}

TEST(Kerple, GradientsAreCentralDifferences) {
    for (const auto& [spec, formula] : kernels_of_the_paper)
        for (const Mask mask : {Mask::causal, Mask::bidirectional}) {
            BoundEncoding encoding(spec, dims(mask), 32);
            expect_gradients(encoding, positions_from(10, 30), positions_from(0, 40), formula);
            expect_gradients(encoding, {7, 900, 3, 40}, {2, 3, 3, 41, 7, 600}, formula);
        }
}

TEST(Kerple, OutsideItsBoundsAParameterIsAtThemAndHasNoGradient) {
    for (const auto& [spec, formula] : kernels_of_the_paper) {
        BoundEncoding encoding(spec, dims(), 32);
        for (int layer = 0; layer < 2; ++layer) {
            encoding.set(layer, 0, {-1, 0.005, 3});
            encoding.set(layer, 1, {0.5, -2, 3});
        }
        expect_bias(encoding, positions_from(10, 30), positions_from(0, 40), formula);
        expect_gradients(encoding, positions_from(10, 30), positions_from(0, 40), formula);
    }
    BoundEncoding power("kerple:kernel=power", dims());
    power.set(0, 1, {0, 2.5, 1});
    const Table table = power->table({.part = "parameters"});
    EXPECT_EQ(table.rows[0][2], 0.01);
    EXPECT_EQ(table.rows[1][2], 2);
    EXPECT_EQ(table.rows[2][2], 1);
}

// ALiBi is KERPLE with r2 = 1 and r1 equal to the slopes.
TEST(Kerple, CanBeAlibi) {
    const BoundEncoding alibi("alibi", dims());
    const Table slopes = alibi->table({.part = "slopes"});
    BoundEncoding kerple("kerple:kernel=power", dims(), 50);
    kerple.set(1, 0, {slopes.rows[0][1] * 16, slopes.rows[1][1] * 16, slopes.rows[2][1] * 16}); // above the bound
    kerple.set(1, 1, {1, 1, 1});
    for (int head = 0; head < 3; ++head) {
        Tensor a = kerple.bias(1, head, positions_from(20, 60), positions_from(0, 80));
        Tensor b = alibi.bias(1, head, positions_from(20, 60), positions_from(0, 80));
        for (int i = 0; i < 60; ++i)
            for (int j = 0; j <= 20 + i; ++j) EXPECT_FLOAT_EQ(a.view().row(i)[j], 16 * b.view().row(i)[j]);
    }
}

// prepare() recomputes the values derived from the tensors.
TEST(Kerple, FollowsItsTensors) {
    BoundEncoding encoding("kerple", dims(), 64);
    encoding.set(0, 0, {0.25, 0.5, 1});
    expect_bias(encoding, {50}, positions_from(0, 51), log_kernel);
    encoding.set(0, 1, {2, 1, 0.5});
    expect_bias(encoding, {50}, positions_from(0, 51), log_kernel);
}

TEST(Kerple, StartsWithinTheRangesOfTheAuthorsCode) {
    for (const auto& [spec, most_r1, most_r2] :
         {std::tuple{"kerple:kernel=log", 2.0f, 1.0f}, {"kerple:kernel=power", 1.0f, 2.0f}}) {
        const auto tensors = make_encodings(spec, dims()).at(0)->tensors();
        ASSERT_EQ(tensors.size(), 2u);
        EXPECT_EQ(tensors[0].name, "r1");
        EXPECT_EQ(tensors[1].name, "r2");
        for (const TensorSpec& tensor : tensors) {
            EXPECT_TRUE(tensor.per_layer);
            EXPECT_EQ(tensor.initial.kind, InitialValues::Kind::uniform);
            EXPECT_EQ(tensor.initial.a, 0.01f); // the least value with a gradient
        }
        EXPECT_EQ(tensors[0].initial.b, most_r1);
        EXPECT_EQ(tensors[1].initial.b, most_r2);
    }
}

TEST(Kerple, ShowsItsTable) {
    BoundEncoding encoding("kerple", dims(), 8);
    const Table table = encoding->table({.length = 3, .start = 100, .head = 2, .layer = 1});
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            const double found = table.rows[i][j];
            if (j > i)
                EXPECT_EQ(found, -INFINITY);
            else
                EXPECT_NEAR(found, log_kernel(encoding.parameters(1), 2, i, j), 1e-15);
        }
    EXPECT_THROW(encoding->table({.head = 3}), Error);
    EXPECT_THROW(encoding->table({.layer = 2}), Error);
    EXPECT_THROW(std::move(make_encodings("kerple", dims()).at(0))->table({}), Error); // without weights
    EXPECT_THROW(make_encodings("kerple:kernel=linear", dims()), Error);
}

} // namespace kerple_test
} // namespace ordo
