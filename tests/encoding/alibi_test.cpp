// SPDX-License-Identifier: MIT
// Compares ALiBi with the numbers of its paper and of the authors' code.
#include "encoding/base/registry.h"

#include "core/tensor.h"
#include "tests/encoding/bias_formula.h"
#include "tests/encoding/one_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ordo {
namespace alibi_test {

constexpr double hidden = -std::numeric_limits<double>::infinity();

std::unique_ptr<Encoding> alibi(int n_heads, const std::string& spec = "alibi") {
    return std::move(make_encodings(spec, {8 * n_heads, n_heads, 8, 1, 64}).at(0));
}

std::vector<double> slopes(int n_heads, const std::string& spec = "alibi") {
    std::vector<double> out;
    const Table table = alibi(n_heads, spec)->table({.part = "slopes"});
    for (std::size_t h = 0; h < table.rows.size(); ++h) {
        EXPECT_EQ(table.rows[h][0], static_cast<double>(h));
        out.push_back(table.rows[h][1]);
    }
    return out;
}

// "For our models with 8 heads, the slopes are 1/2, 1/4 ... 1/256; with 16 heads 1/2^0.5, 1/2^1 ... 1/2^8."
TEST(Alibi, SlopesOfThePaper) {
    for (int h = 0; h < 8; ++h) EXPECT_EQ(slopes(8)[h], std::ldexp(1, -h - 1));
    for (int h = 0; h < 16; ++h) EXPECT_NEAR(slopes(16)[h], std::pow(2, -(h + 1) / 2.0), 1e-15);
}

// Between powers of two, as in the authors' code: 12 heads end with four of the slopes of 16 heads.
TEST(Alibi, SlopesOfTwelveHeads) {
    const std::vector<double> found = slopes(12);
    ASSERT_EQ(found.size(), 12u);
    for (int h = 0; h < 8; ++h) EXPECT_EQ(found[h], std::ldexp(1, -h - 1));
    const double last[] = {0.7071, 0.3536, 0.1768, 0.0884};
    for (std::size_t h = 0; h < 4; ++h) EXPECT_NEAR(found[8 + h], last[h], 0.5e-4);
}

TEST(Alibi, SlopesOfOneToSixteenHeads) {
    EXPECT_EQ(slopes(1), std::vector<double>{1.0 / 256});
    EXPECT_EQ(slopes(2), (std::vector<double>{1.0 / 16, 1.0 / 256}));
    EXPECT_EQ(slopes(3), (std::vector<double>{1.0 / 16, 1.0 / 256, 1.0 / 4}));
    EXPECT_EQ(slopes(6), (std::vector<double>{1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256, 1.0 / 2, 1.0 / 8}));
    for (int n = 1; n <= 16; ++n) {
        const std::vector<double> found = slopes(n);
        ASSERT_EQ(found.size(), static_cast<std::size_t>(n));
        const reference::Subject oracle("alibi:max=8,power=1", {8 * n, n, 8, 1, 64});
        for (int h = 0; h < n; ++h) EXPECT_NEAR(found[h], -oracle.bias(1, 0, h), 1e-14) << n << ": " << h;
    }
}

// MPT's alibi_bias_max.
TEST(Alibi, MaxIsTheExponentOfTheSmallestSlope) {
    for (int n = 1; n <= 33; ++n)
        for (const int max : {3, 8}) {
            const std::vector<double> found = slopes(n, "alibi:max=" + std::to_string(max));
            EXPECT_EQ(*std::min_element(found.begin(), found.end()), std::ldexp(1, -max)) << n;
        }
    // The help text says so. For the last head it would hold only for powers of two.
    EXPECT_GT(slopes(12).back(), std::ldexp(1, -8));
    EXPECT_EQ(parameters_of(find_encoding("alibi")).at(0).meaning, "the smallest slope of all heads is 2^-max");
    EXPECT_EQ(slopes(4, "alibi:max=16"), (std::vector<double>{1.0 / 16, 1.0 / 256, 1.0 / 4096, 1.0 / 65536}));
}

// The matrix that the slope multiplies, shown with a slope of one.
TEST(Alibi, ThreeByThree) {
    EXPECT_EQ(alibi(1, "alibi:max=0")->table({.length = 3}).rows,
              (std::vector<std::vector<double>>{{0, hidden, hidden}, {-1, 0, hidden}, {-2, -1, 0}}));
    EXPECT_EQ(alibi(8)->table({.length = 3, .head = 1}).rows,
              (std::vector<std::vector<double>>{{0, hidden, hidden}, {-0.25, 0, hidden}, {-0.5, -0.25, 0}}));
    EXPECT_EQ(alibi(8)->table({.length = 3, .start = 40, .head = 1}).rows,
              alibi(8)->table({.length = 3, .head = 1}).rows);
    EXPECT_THROW(alibi(8)->table({.length = 3, .head = 8}), Error);
    EXPECT_THROW(alibi(8)->table({.length = 3, .head = -1}), Error);
    EXPECT_THROW(alibi(8)->table({.length = 10000}), Error);
}

TEST(Alibi, IsSymmetricAndAddedAtAnyDistanceExactly) {
    const auto encoding = alibi(2); // 1/16 and 1/256: exact in a float
    const std::vector<int> queries = {5, 100000000}, keys = {0, 5, 7, 100000001, 100000256};
    Tensor scores(2, 5);
    for (std::size_t i = 0; i < scores.size(); ++i) scores.data()[i] = 1;
    encoding->bias(scores.view(), {.head = 1, .queries = queries, .keys = keys});
    const float near_ones[] = {1 - 5 / 256.0f, 1, 1 - 2 / 256.0f};
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(scores.view().row(0)[j], near_ones[j]);
    // Positions past 2^24, where neighbouring integers are equal in a float.
    EXPECT_EQ(scores.view().row(1)[3], 1 - 1 / 256.0f);
    EXPECT_EQ(scores.view().row(1)[4], 0);
}

// -m D^power, for prepared distances and others.
TEST(Alibi, FallsWithAPowerOfTheDistance) {
    for (const double power : {0.5, 2.0}) {
        const auto encoding = alibi(2, "alibi:power=" + std::to_string(power)); // 1/16 and 1/256
        const Table table = encoding->table({.length = 5, .head = 1});
        for (int distance = 0; distance < 5; ++distance)
            EXPECT_EQ(table.rows[4][4 - distance], -std::pow(distance, power) / 256);
        for (const int prepared : {0, 3, 600}) {
            encoding->prepare(prepared);
            const std::vector<int> queries = {4, 500}, keys = {0, 1, 3, 4, 500, 100000000};
            Tensor scores(2, 6);
            for (std::size_t i = 0; i < scores.size(); ++i) scores.data()[i] = 1;
            encoding->bias(scores.view(), {.head = 1, .queries = queries, .keys = keys});
            for (std::size_t i = 0; i < queries.size(); ++i)
                for (std::size_t j = 0; j < keys.size(); ++j) {
                    const double expected = 1 - std::pow(std::abs(double(queries[i]) - keys[j]), power) / 256;
                    EXPECT_NEAR(scores.view().row(static_cast<int>(i))[j], expected, 1e-6 * std::abs(expected));
                }
        }
    }
}

// -m (1 - exp(-D / length)), for prepared distances and others.
TEST(Alibi, NearsItsSlopeWithAnExponentialPenalty) {
    for (const int prepared : {0, 3, 600}) {
        BoundEncoding encoding("alibi:penalty=exponential,length=20", {16, 2, 8, 1, 64}, prepared);
        const BiasFormula formula = [](const LayerParameters&, int head, int i, int j) {
            return -(head == 0 ? 1.0 / 16 : 1.0 / 256) * (1 - std::exp(-std::abs(double(i) - j) / 20));
        };
        expect_bias(encoding, {0, 4, 500}, {0, 1, 3, 4, 500}, formula, 1e-7);
        expect_bias(encoding, {500}, positions_from(0, 501), formula, 1e-7);
        Tensor far = encoding.bias(0, 0, {100000000}, {0});
        EXPECT_EQ(far.data()[0], -1.0f / 16);
    }
    EXPECT_EQ(alibi(2, "alibi:penalty=exponential,length=20")->spec(),
              "alibi:max=8,power=1,penalty=exponential,length=20");
    EXPECT_THROW(alibi(2, "alibi:penalty=exponential,power=2"), Error);
    EXPECT_THROW(alibi(2, "alibi:length=20"), Error); // the penalty is not exponential
}

// -m (exp(D / length) - 1): distant keys get no weight, and the result stays finite.
TEST(Alibi, GrowsExponentially) {
    for (const int prepared : {0, 3, 600}) {
        BoundEncoding encoding("alibi:penalty=growing,length=20", {16, 2, 8, 1, 64}, prepared);
        const BiasFormula formula = [](const LayerParameters&, int head, int i, int j) {
            return -(head == 0 ? 1.0 / 16 : 1.0 / 256) * (std::exp(std::abs(double(i) - j) / 20) - 1);
        };
        expect_bias(encoding, {0, 4, 50}, {0, 1, 3, 4, 50}, formula, 1e-5);
        const float far = encoding.bias(0, 0, {100000000}, {0}).data()[0];
        EXPECT_TRUE(std::isfinite(far)) << far;
        EXPECT_LT(far, -1e20f);
    }
    EXPECT_EQ(alibi(2, "alibi:penalty=growing,length=20")->spec(), "alibi:max=8,power=1,penalty=growing,length=20");
    EXPECT_THROW(alibi(2, "alibi:penalty=growing,power=2"), Error);
}

// Trains the slopes of each layer, starting from ALiBi's. Slopes are used as they are, with either sign.
TEST(Alibi, TrainsSlopes) {
    const Dims dims{24, 3, 8, 2, 64};
    for (const auto& [spec, penalty] :
         {std::pair<const char*, std::function<double(double)>>{"alibi:trained=yes", [](double d) { return d; }},
          {"alibi:power=0.5,trained=yes", [](double d) { return std::sqrt(d); }},
          {"alibi:penalty=exponential,length=9,trained=yes", [](double d) { return 1 - std::exp(-d / 9); }},
          {"alibi:penalty=growing,length=400,trained=yes", [](double d) { return std::exp(d / 400) - 1; }}}) {
        SCOPED_TRACE(spec);
        const BiasFormula formula = [penalty = penalty](const LayerParameters& parameters, int head, int i, int j) {
            return -parameters[0][head] * penalty(std::abs(double(i) - j));
        };
        BoundEncoding encoding(spec, dims, 50);
        EXPECT_EQ(encoding.parameters(1)[0], (std::vector<double>{1.0 / 16, 1.0 / 256, 1.0 / 4}));
        encoding.set(1, 0, {0.75, -2, 0});
        expect_bias(encoding, positions_from(0, 40), positions_from(0, 40), formula);
        expect_bias(encoding, {5, 300, 6}, {300, 2, 2, 250, 6, 7}, formula);
        expect_gradients(encoding, positions_from(10, 30), positions_from(0, 40), formula);
        expect_gradients(encoding, {7, 900, 3, 40}, {2, 3, 3, 41, 7, 600}, formula);
        EXPECT_EQ(encoding->table({.part = "slopes", .layer = 1}).rows[1][1], -2);
        EXPECT_THROW(make_encodings(spec, dims)[0]->table({}), Error); // without weights
    }
    EXPECT_TRUE(make_encodings("alibi", dims)[0]->tensors().empty());
    EXPECT_EQ(make_encodings("alibi:trained=no", dims)[0]->spec(), "alibi:max=8,power=1");
}

} // namespace alibi_test
} // namespace ordo
