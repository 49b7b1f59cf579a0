// SPDX-License-Identifier: MIT
// Compares Sandwich with the formula of its paper.
#include "tests/encoding/bias_formula.h"

#include <cmath>

namespace ordo {
namespace sandwich_test {

Dims dims(Mask mask = Mask::causal, int d_model = 24) {
    return {.d_model = d_model, .n_heads = 3, .d_head = 8, .n_layers = 2, .context = 64, .mask = mask};
}

// The product of sinusoidal positions i and j. Their pairs are (sin, cos) of p 10000^(-2k/width) for k = 1 .. width/2.
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

// The cosine integral, by its series, or by the asymptotic series if that is more accurate.
double cosine_integral(double x) {
    const double gamma = 0.57721566490153286;
    double sum = 0, term = 1;
    if (x < 12) {
        for (int n = 1; n < 60; ++n) {
            term *= -x * x / ((2 * n - 1) * (2.0 * n));
            sum += term / (2 * n);
        }
        return gamma + std::log(x) + sum;
    }
    for (int n = 0; n < 10; ++n) { // n! / x^n, with sine and cosine in turn
        const double sign = n % 4 < 2 ? 1 : -1;
        sum += sign * term * (n % 2 == 0 ? std::sin(x) : -std::cos(x));
        term *= (n + 1) / x;
    }
    return sum / x;
}

// With more and more columns, the mean of the cosines approaches the integral over u = 2k / width from 0 to 1:
//   cos(D 10000^-u) du = (Ci(D) - Ci(D / 10000)) / ln 10000.
// For 1 << D << 10000 this is 1 - (gamma + ln D) / ln 10000: a bias by the logarithm of the distance, as in KERPLE.
TEST(Sandwich, OfManyColumnsIsALogarithmOfTheDistance) {
    constexpr int width = 1 << 15;
    const BoundEncoding wide("sandwich:scale=1,width=" + std::to_string(width), dims());
    const double log_base = std::log(10000.0);
    for (const int distance : {1, 2, 3, 7, 11, 12, 20, 40, 100, 300, 2000, 9000}) {
        const double found = static_cast<double>(wide.bias(0, 2, {distance}, {0}).data()[0]) / (width / 2);
        const double exact = (cosine_integral(distance) - cosine_integral(distance / 10000.0)) / log_base - 1;
        EXPECT_NEAR(found, exact, 2e-4) << distance;
        if (distance >= 20 && distance <= 300) {
            EXPECT_NEAR(found, -(0.57721566 + std::log(distance)) / log_base, 0.01) << distance;
        }
    }
}

TEST(Sandwich, HasNothingToTrainAndAnEvenWidth) {
    const auto encoding = std::move(make_encodings("sandwich", dims(Mask::causal, 25)).at(0));
    EXPECT_TRUE(encoding->tensors().empty());
    EXPECT_EQ(encoding->spec(), "sandwich:scale=8,width=24");
    EXPECT_THROW(make_encodings("sandwich:width=7", dims()), Error);
    EXPECT_THROW(make_encodings("sandwich:scale=0", dims()), Error);
    EXPECT_THROW(encoding->table({.head = 3}), Error);
}

} // namespace sandwich_test
} // namespace ordo
