// SPDX-License-Identifier: MIT
// Compares the oracles with published numbers, and with each other where one is a special case of another. Without
// these tests, an oracle and an encoding could be wrong in the same way. For the oracles that rotate see
// reference_rotation_test.cpp.
#include "tests/encoding/one_oracle.h"

#include <cmath>

namespace ordo::reference {
namespace reference_test {

// ---- Specs --------------------------------------------------------------------------------------

TEST(OracleSpec, ItemsAreRead) {
    const Item item("rope:theta=500000,pairing=halves,sections=16/24/24");
    EXPECT_EQ(item.name(), "rope");
    EXPECT_EQ(item.number("theta"), 500000);
    EXPECT_TRUE(item.is("pairing", "halves"));
    EXPECT_FALSE(item.is("scaling", "yarn"));
    EXPECT_EQ(item.number("factor", 7), 7);
    EXPECT_EQ(item.list("sections"), (Vector{16, 24, 24}));
    EXPECT_THROW((void)item.word("factor"), std::out_of_range);
}

TEST(OracleSpec, SumsActInAllLayersAndPatternsInTurn) {
    const Tensors none;
    const Oracles sum("none+alibi:max=8,power=1", small, none);
    EXPECT_EQ(sum.layer(0).size(), 2u);
    EXPECT_EQ(sum.layer(1), sum.all());

    const std::string alibi = "(alibi:max=8,power=1)", rotary = "(" + rope("", 4) + "+alibi:max=4,power=1)";
    const Oracles pattern("pattern(" + alibi + ",none," + rotary + ")+sinusoidal:scale=1,base=1,offset=0", small, none);
    ASSERT_TRUE(pattern.complete());
    EXPECT_EQ(pattern.all().size(), 5u);
    EXPECT_EQ(pattern.layer(0).size(), 2u);
    EXPECT_EQ(pattern.layer(2).size(), 3u);
    EXPECT_EQ(pattern.layer(3), pattern.layer(0));
    const Place at{0}, far{8};
    const Vector x;
    // 2^-8, the last of four slopes.
    EXPECT_EQ(pattern.layer(0)[0]->bias({0, 3, 1}, {x, at, x}, {x, far, x}), -8 / 256.0);
    EXPECT_EQ(pattern.layer(1)[0]->bias({1, 3, 1}, {x, at, x}, {x, far, x}), 0);
    EXPECT_EQ(pattern.layer(2)[1]->bias({2, 3, 1}, {x, at, x}, {x, far, x}), -8 / 16.0);
}

TEST(OracleSpec, WhatHasNoOracleIsNamed) {
    const Tensors none;
    const Oracles oracles("none+unheard-of:key=1", small, none);
    EXPECT_FALSE(oracles.complete());
    EXPECT_EQ(oracles.advice(), "unheard-of has no oracle: add one in tests/oracles");
}

// ---- Biases -------------------------------------------------------------------------------------

// The buckets of T5's own code with its defaults, 32 and 128.
TEST(T5Oracle, Buckets) {
    Matrix table(32, 4);
    for (int bucket = 0; bucket < 32; ++bucket) table.at(bucket, 1) = bucket;
    const Subject causal("t5:buckets=32,distance=128", small, {{"encoding.t5.weight", table}});
    const auto bucket = [&](int d) { return causal.bias(d, 0, 1); };
    for (int d = 0; d < 16; ++d) EXPECT_EQ(bucket(d), d);
    for (const auto& [d, expected] :
         {std::pair{16, 16}, {19, 17}, {31, 21}, {64, 26}, {127, 31}, {128, 31}, {5000, 31}})
        EXPECT_EQ(bucket(d), expected) << d;
    EXPECT_EQ(causal.bias(3, 9, 1), 0); // a later key has distance 0

    const Subject both("t5:buckets=32,distance=128", bidirectional(small), {{"encoding.t5.weight", table}});
    EXPECT_EQ(both.bias(9, 9, 1), 0);
    EXPECT_EQ(both.bias(9, 2, 1), 7);
    EXPECT_EQ(both.bias(2, 9, 1), 16 + 7);
    EXPECT_EQ(both.bias(64, 0, 1), 8 + 6); // 8 ln(64/8)/ln(128/8) is exactly 6, which a float may round
    EXPECT_EQ(both.bias(0, 300, 1), 31);
}

TEST(AlibiOracle, SlopesOfThePaperAndOfItsCode) {
    const auto slopes = [](int n) {
        const Subject alibi("alibi:max=8,power=1", {24, n, 6, 2, 64});
        Vector out;
        for (int head = 0; head < n; ++head) out.push_back(-alibi.bias(5, 4, head));
        return out;
    };
    expect_equal(slopes(8), {1 / 2.0, 1 / 4.0, 1 / 8.0, 1 / 16.0, 1 / 32.0, 1 / 64.0, 1 / 128.0, 1 / 256.0});
    const Vector twelve = slopes(12);
    expect_equal({twelve.end() - 4, twelve.end()}, {0.7071, 0.3536, 0.1768, 0.0884}, 5e-5);
}

TEST(AlibiOracle, TrainedSlopesAndAnExponentialPenalty) {
    const Tensors tensors = {{"encoding.alibi.layers.0.slopes", row_of({2, 3, -1, 5})}};
    const Subject trained("alibi:max=8,power=2,trained=yes", small, tensors);
    EXPECT_EQ(trained.bias(1, 4, 1), -27);
    EXPECT_EQ(trained.bias(4, 1, 2), 9);
    const Subject same("alibi:max=8,power=1,trained=yes", small,
                       {{"encoding.alibi.layers.0.slopes", row_of({1 / 4.0, 1 / 16.0, 1 / 64.0, 1 / 256.0})}});
    expect_same_bias(same, Subject("alibi:max=8,power=1"));

    const Subject exponential("alibi:max=8,power=1,penalty=exponential,length=10");
    EXPECT_NEAR(exponential.bias(10, 0), -(1 - std::exp(-1)) / 4, 1e-15);
    EXPECT_NEAR(exponential.bias(100000, 0), -0.25, 1e-15);
    // Near the query it is ALiBi's bias divided by the length.
    const Subject gentle("alibi:max=8,power=1,penalty=exponential,length=1000000");
    EXPECT_NEAR(gentle.bias(3, 0) * 1000000, Subject("alibi:max=8,power=1").bias(3, 0), 1e-5);
}

TEST(KerpleOracle, IsAlibiAsAPowerOfOne) {
    const Vector slopes = {1 / 4.0, 1 / 16.0, 1 / 64.0, 0.001};
    Tensors tensors = {{"encoding.kerple.layers.0.r1", row_of(slopes)},
                       {"encoding.kerple.layers.0.r2", filled(1, 4, 1)}};
    const Subject kerple("kerple:kernel=power", small, tensors), alibi("alibi:max=8,power=1");
    for (const int head : {0, 1, 2}) EXPECT_NEAR(kerple.bias(40, 3, head), alibi.bias(40, 3, head), 1e-12);
    EXPECT_NEAR(kerple.bias(40, 30, 3), -0.1, 1e-12); // clamped to at least 0.01
}

TEST(KerpleOracle, LogarithmAndClamps) {
    const Tensors tensors = {{"encoding.kerple.layers.0.r1", row_of({2, 2, 1, 1})},
                             {"encoding.kerple.layers.0.r2", row_of({0.5, -3, 9, 2})}};
    const Subject log("kerple:kernel=log", small, tensors), power("kerple:kernel=power", small, tensors);
    EXPECT_NEAR(log.bias(6, 0, 0), -2 * std::log(4), 1e-12);
    EXPECT_NEAR(log.bias(0, 6, 1), -2 * std::log(1.06), 1e-12);
    EXPECT_NEAR(power.bias(3, 0, 2), -9, 1e-12); // the exponent is clamped below 2
    EXPECT_EQ(power.bias(3, 3, 2), 0);
}

// The paper's temporal bias: zero at distance 0, and the same logarithmic fall for each head, eight times as flat in
// the last.
TEST(SandwichOracle, IsASumOfCosines) {
    const Subject sandwich("sandwich:scale=8,width=128", {128, 8, 16, 1, 64});
    for (const int d : {0, 1, 5, 1000}) {
        double sum = -64;
        for (int k = 1; k <= 64; ++k) sum += std::cos(d * std::pow(10000, -k / 64.0));
        for (int head = 0; head < 8; ++head) {
            EXPECT_NEAR(sandwich.bias(d + 3, 3, head), sum / (head + 1), 1e-9);
            EXPECT_NEAR(sandwich.bias(3, d + 3, head), sum / (head + 1), 1e-9);
        }
    }
    EXPECT_LT(sandwich.bias(100, 0), sandwich.bias(10, 0));
}

Tensors fire_tensors(int width, double c, double l) {
    const std::string of = "encoding.fire.layers.0.";
    return {{of + "c", filled(1, 1, c)},
            {of + "l", filled(1, 1, l)},
            {of + "in.weight", some(width, 1)},
            {of + "in.bias", some(1, width, 2)},
            {of + "out.weight", some(4, width, 3)},
            {of + "out.bias", some(1, 4, 4)}};
}

// The hidden layer passes x on and the output layer has slopes: f(ln(1 + c D) / ln(1 + c T)). Up to the threshold this
// is ALiBi as c goes to zero, and KERPLE for any c. See theorem 3.2 of the paper.
TEST(FireOracle, ExpressesAlibiAndKerpleUpToItsThreshold) {
    const std::string of = "encoding.fire.layers.0.";
    const Vector slopes = {1 / 4.0, 1 / 16.0, 1 / 64.0, 1 / 256.0};
    const auto made = [&](double c, double factor) {
        Tensors tensors = fire_tensors(1, c, 1);
        tensors[of + "in.weight"] = filled(1, 1, 1);
        tensors[of + "in.bias"] = filled(1, 1, 0);
        tensors[of + "out.bias"] = filled(1, 4, 0);
        Matrix out(4, 1);
        for (int h = 0; h < 4; ++h) out.at(h, 0) = -slopes[h] * factor;
        tensors[of + "out.weight"] = out;
        return Subject("fire:threshold=64,width=1", small, tensors);
    };
    // The difference is the reference's 1e-6 in the denominator.
    const double tiny = 1e-4, psi = std::log1p(64 * 3.0);
    expect_same_bias(made(tiny, 64 + 1e-6 * 64 / std::log1p(64 * tiny)), Subject("alibi:max=8,power=1"), 0.06);
    const Tensors kerple = {{"encoding.kerple.layers.0.r1", row_of({1 / 4.0, 1 / 16.0, 1 / 64.0, 1 / 64.0})},
                            {"encoding.kerple.layers.0.r2", filled(1, 4, 3)}};
    const Subject fire = made(3, psi + 1e-6), log("kerple:kernel=log", small, kerple);
    for (const int head : {0, 1, 2}) EXPECT_NEAR(fire.bias(50, 7, head), log.bias(50, 7, head), 1e-9);
}

TEST(FireOracle, ShiftsUpToTheThresholdAndInterpolatesBeyond) {
    const Subject fire("fire:threshold=32,width=5", small, fire_tensors(5, 0.1, -1.5)); // |l| T is 48
    EXPECT_EQ(fire.bias(10, 4, 1), fire.bias(48, 42, 1));
    EXPECT_NE(fire.bias(10, 4, 1), fire.bias(49, 43, 1));
    EXPECT_EQ(fire.bias(10, 4, 1), fire.bias(4, 10, 1));
    EXPECT_NEAR(fire.bias(1000, 0, 1), fire.bias(100, 0, 1), 1e-5); // the whole distance is always normalised to one
}

TEST(ShawOracle, ClipsAndMixes) {
    const Tensors tensors = {{"encoding.shaw.layers.0.keys", some(5, 6)},
                             {"encoding.shaw.layers.0.values", some(5, 6, 2)}};
    const Subject shaw("shaw:clip=2,values=yes", small, tensors);
    const Vector q = some_vector(6, 3);
    const auto expected = [&](int row) { return 0.5 * dot(q, tensors.at("encoding.shaw.layers.0.keys"), row); };
    // The index is j - i: the first row is for keys far before the query.
    EXPECT_EQ(shaw.bias(9, 0, 2, q, {}, 0.5), expected(0));
    EXPECT_EQ(shaw.bias(9, 8, 2, q, {}, 0.5), expected(1));
    EXPECT_EQ(shaw.bias(9, 9, 2, q, {}, 0.5), expected(2));
    EXPECT_EQ(shaw.bias(9, 60, 2, q, {}, 0.5), expected(4));
    Vector out(6, 1.0);
    const Place i{9}, j{8};
    shaw.oracle().mix(out, 0.25, {0, 0, 1}, {q, i, {}}, {q, j, {}});
    for (int l = 0; l < 6; ++l) EXPECT_EQ(out[l], 1 + 0.25 * tensors.at("encoding.shaw.layers.0.values").at(1, l));

    const Subject zeros("shaw:clip=2,values=no", small, {{"encoding.shaw.layers.0.keys", Matrix(5, 6)}});
    expect_same_bias(zeros, Subject("none"));
    zeros.oracle().mix(out, 0.25, {0, 0, 1}, {q, i, {}}, {q, j, {}}); // uses no tensor
}

TEST(TransformerXlOracle, IsTheFourTermsOfThePaper) {
    const std::string of = "encoding.transformer-xl.layers.0.";
    const Tensors tensors = {{of + "projection", some(24, 8)}, {of + "u", some(4, 6, 2)}, {of + "v", some(4, 6, 3)}};
    const Subject xl("transformer-xl:width=8", small, tensors);
    const Vector q = some_vector(6, 4), k = some_vector(6, 5);
    for (const int d : {0, 3, -3}) {
        Vector s; // written out
        for (const double w : {1.0, 0.1, 0.01, 0.001}) s.push_back(std::sin(d * w));
        for (const double w : {1.0, 0.1, 0.01, 0.001}) s.push_back(std::cos(d * w));
        const int head = 2;
        Vector rotated = q;
        const Place place{10 + d};
        xl.oracle().rotate(rotated, place, Role::query, 0, head);
        double expected = 0;
        for (int l = 0; l < 6; ++l) {
            const double r = dot(s, tensors.at(of + "projection"), head * 6 + l);
            const auto at = static_cast<std::size_t>(l);
            expected += q[at] * k[at] + q[at] * r + tensors.at(of + "u").at(head, l) * k[at] +
                        tensors.at(of + "v").at(head, l) * r;
        }
        EXPECT_NEAR(0.3 * dot(rotated, k) + xl.bias(10 + d, 10, head, rotated, k, 0.3), 0.3 * expected, 1e-12) << d;
    }
    const Tensors zeros = {{of + "projection", Matrix(24, 8)}, {of + "u", Matrix(4, 6)}, {of + "v", some(4, 6, 3)}};
    expect_same_bias(Subject("transformer-xl:width=8", small, zeros), Subject("none"));
}

TEST(DebertaOracle, TermsAndTheirScale) {
    const std::string of = "encoding.deberta.layers.0.";
    const Matrix keys = some(8, 24), queries = some(8, 24, 2);
    const Tensors tensors = {{of + "keys", keys}, {of + "queries", queries}};
    const Subject both("deberta:span=4,terms=both", small, tensors), c2p("deberta:span=4,terms=c2p", small, tensors),
        p2c("deberta:span=4,terms=p2c", small, tensors);
    const Vector q = some_vector(6, 4), k = some_vector(6, 5);
    const double third = 1 / std::sqrt(3.0), half = 1 / std::sqrt(2.0);
    const auto scaled = [](Vector x, double f) {
        for (double& value : x) value *= f;
        return x;
    };
    expect_equal(both.rotated(q, {7}), scaled(q, third));
    expect_equal(c2p.rotated(q, {7}), scaled(q, half));
    expect_equal(both.rotated(k, {7}, Role::key), k);
    // i - j = 2 is row 6 for the query, and row 2 for the key, whose distance has the other sign.
    const double to = dot(q, keys, 6, 18), from = dot(k, queries, 2, 18);
    EXPECT_NEAR(both.bias(12, 10, 3, scaled(q, third), k, 0.4), 0.4 * third * (to + from), 1e-12);
    EXPECT_NEAR(c2p.bias(12, 10, 3, scaled(q, half), k, 0.4), 0.4 * half * to, 1e-12);
    EXPECT_NEAR(p2c.bias(12, 10, 3, scaled(q, half), k, 0.4), 0.4 * half * from, 1e-12);
    EXPECT_NEAR(c2p.bias(90, 0, 0, q, k), dot(q, keys, 7), 1e-12); // 2 span - 1 at most
    EXPECT_NEAR(c2p.bias(0, 90, 0, q, k), dot(q, keys, 0), 1e-12);
}

// ---- A row, a state, a sink ---------------------------------------------------------------------

TEST(CopeOracle, CountsTheGatesFromTheEnd) {
    Matrix e(4, 6);
    for (int p = 0; p < 4; ++p) e.at(p, 0) = 10 * p; // q.e[p] = 10 p
    const Subject cope("cope:positions=4", small, {{"encoding.cope.layers.0.weight", e}});
    const Vector q = {1, 0, 0, 0, 0, 0};
    const Place at{9};
    const auto rescored = [&](Vector row) {
        cope.oracle().rescore(row, {0, 2, 0.1}, {q, at, {}});
        return row;
    };
    // Open gates count positions up to the last row of the table.
    expect_equal(rescored({50, 50, 50, 50, 50}), {80, 80, 80, 70, 60}, 1e-9);
    expect_equal(rescored({-50, -50, -50}), {-50, -50, -50}, 1e-9);
    expect_equal(rescored({0, 0, 0}), {15, 10, 5}, 1e-12); // positions between rows are interpolated
    expect_equal(rescored({-50, 50, -50, 50, -50}), {-30, 70, -40, 60, -50}, 1e-9);
}

// With all gates equal, forgetting is ALiBi: ln f for each token between query and key.
TEST(ForgetOracle, ConstantGatesAreAlibi) {
    const Vector slopes = {1 / 4.0, 1 / 16.0, 1 / 64.0, 1 / 256.0};
    Vector biases;
    for (const double m : slopes) biases.push_back(-std::log(std::expm1(m))); // sigmoid(b) = e^-m
    const Subject forget("forget", small,
                         {{"encoding.forget.layers.0.gate.weight", Matrix(4, 24)},
                          {"encoding.forget.layers.0.gate.bias", row_of(biases)}});
    std::vector<Vector> states;
    for (int t = 0; t < 50; ++t)
        states.push_back(forget.oracle().observe(some_vector(24, t), {t}, 0, t == 0 ? Vector() : states.back()));
    const Subject alibi("alibi:max=8,power=1");
    for (int head = 0; head < 4; ++head)
        for (const auto& [i, j] : {std::pair{0, 0}, {49, 0}, {20, 13}, {13, 20}}) {
            const auto query = static_cast<std::size_t>(i), key = static_cast<std::size_t>(j);
            const Place at{i}, from{j};
            EXPECT_NEAR(forget.oracle().bias({0, head, 1}, {{}, at, states[query]}, {{}, from, states[key]}),
                        alibi.bias(i, j, head), 1e-12);
        }
}

TEST(ForgetOracle, SumsTheLogarithmsOfTheGatesBetween) {
    const Matrix weight = some(4, 24);
    const Subject forget("forget", small,
                         {{"encoding.forget.layers.1.gate.weight", weight},
                          {"encoding.forget.layers.1.gate.bias", row_of({1, -2, 300, -300})}});
    std::vector<Vector> x, states;
    for (int t = 0; t < 6; ++t) {
        x.push_back(some_vector(24, t));
        states.push_back(forget.oracle().observe(x.back(), {t}, 1, t == 0 ? Vector() : states.back()));
    }
    double expected = 0;
    for (std::size_t t = 3; t <= 5; ++t) expected += std::log(1 / (1 + std::exp(-(dot(x[t], weight, 1) - 2))));
    const Place i{5}, j{2};
    EXPECT_NEAR(forget.oracle().bias({1, 1, 1}, {{}, i, states[5]}, {{}, j, states[2]}), expected, 1e-12);
    EXPECT_LT(states[5][3], -1500); // a closed gate does not overflow
    EXPECT_NEAR(states[5][2], 0, 1e-9);
}

TEST(SinkOracle, IsItsTensor) {
    const Subject sink("sink", small, {{"encoding.sink.layers.1.logit", row_of({1, 2, 3, 4})}});
    EXPECT_EQ(sink.oracle().sink(1, 2), 3);
    EXPECT_EQ(Subject("none").oracle().sink(1, 2), -std::numeric_limits<double>::infinity());
}

} // namespace reference_test
} // namespace ordo::reference
