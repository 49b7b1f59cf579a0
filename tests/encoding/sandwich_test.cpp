// SPDX-License-Identifier: MIT
// Sandwich against the formula of its paper.
#include "encoding/registry.h"
#include "tests/encoding/bias_formula.h"

#include <cmath>

namespace ordo {
namespace {

Dims dims(Mask mask = Mask::causal, int d_model = 24) {
    return {.d_model = d_model, .n_heads = 3, .d_head = 8, .n_layers = 2, .context = 64, .mask = mask};
}

// The product of sinusoidal positions i and j, whose pairs are (sin, cos) of p 10000^(-2k/width) for k = 1 .. width/2.
BiasFormula formula(int width, double scale = 8) {
    return [=](const LayerParameters&, int head, int i, int j) {
        double product = 0;
        for (int k = 1; k <= width / 2; ++k) {
            const double w = std::pow(10000, -2.0 * k / width);
            product += std::sin(i * w) * std::sin(j * w) + std::cos(i * w) * std::cos(j * w);
        }
        return (product - width / 2) / (scale * (head + 1) / 3);
    };
}

TEST(Sandwich, IsTheFormulaWhateverIsPrepared) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional})
        for (const int prepared : {0, 7, 400}) {
            BoundEncoding encoding("sandwich", dims(mask), prepared);
            expect_bias(encoding, positions_from(0, 20), positions_from(0, 20), formula(24));
            expect_bias(encoding, {300}, positions_from(0, 301), formula(24));
            expect_bias(encoding, {5, 300, 6}, {300, 2, 2, 250, 6, 7}, formula(24));
            BoundEncoding wide("sandwich:scale=2.5,width=128", dims(mask), prepared);
            expect_bias(wide, positions_from(70, 20), positions_from(0, 90), formula(128, 2.5));
        }
}

TEST(Sandwich, TheTableIsTheClosedForm) {
    const BoundEncoding prepared("sandwich", dims(), 500), closed("sandwich", dims(), 0);
    Tensor a = prepared.bias(1, 2, positions_from(400, 4), positions_from(0, 400));
    Tensor b = closed.bias(1, 2, positions_from(400, 4), positions_from(0, 400));
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.data()[i], b.data()[i]);
}

TEST(Sandwich, IsZeroAtTheQueryAndFallsWithTheDistanceAtFirst) {
    const Table table = make_encodings("sandwich:width=128", dims())[0]->table({.length = 30, .head = 1});
    EXPECT_EQ(table.rows[29][29], 0);
    for (std::size_t j = 20; j < 29; ++j) EXPECT_LT(table.rows[29][j], 0);
    EXPECT_LT(table.rows[29][20], table.rows[29][27]);
    const Table scales = make_encodings("sandwich", dims())[0]->table({.part = "scales"});
    EXPECT_DOUBLE_EQ(scales.rows[0][1], 8.0 / 3);
    EXPECT_EQ(scales.rows[2][1], 8);
}

TEST(Sandwich, HasNothingToTrainAndAnEvenWidth) {
    const auto encoding = std::move(make_encodings("sandwich", dims(Mask::causal, 25)).at(0));
    EXPECT_TRUE(encoding->tensors().empty());
    EXPECT_EQ(encoding->spec(), "sandwich:scale=8,width=24");
    EXPECT_THROW(make_encodings("sandwich:width=7", dims()), Error);
    EXPECT_THROW(make_encodings("sandwich:scale=0", dims()), Error);
    EXPECT_THROW(encoding->table({.head = 3}), Error);
}

} // namespace
} // namespace ordo
