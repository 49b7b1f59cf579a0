// SPDX-License-Identifier: MIT
// How oracles are found by a spec, and worked examples of those whose papers print no numbers. Published numbers are in
// encoding/published_test.cpp, for the encodings.
#include "tests/oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ordo::reference {
namespace oracle_spec_test {

const Dims small{24, 4, 6, 2, 64};

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

    const std::string alibi = "(alibi:max=8,power=1)",
                      rotary = "(rope:theta=10000,pairing=adjacent,width=4+alibi:max=4,power=1)";
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

// ---- Worked examples ----------------------------------------------------------------------------

// Distinct numbers, none of them special.
Matrix some(int rows, int cols, double seed = 1) {
    Matrix m(rows, cols);
    for (std::size_t i = 0; i < m.values.size(); ++i) m.values[i] = std::sin(seed + 1.7 * static_cast<double>(i));
    return m;
}
Matrix row_of(const Vector& values) {
    Matrix m(1, static_cast<int>(values.size()));
    m.values = values;
    return m;
}
Vector some_vector(std::size_t n, double seed) {
    return some(1, static_cast<int>(n), seed).values;
}
Vector scaled(Vector x, double f) {
    for (double& value : x) value *= f;
    return x;
}

// A spec of one encoding and its effect.
struct Subject {
    explicit Subject(const std::string& spec, Tensors its_tensors)
        : tensors(std::move(its_tensors)), oracles(spec, small, tensors) {}
    const Oracle& oracle() const { return *oracles.all().at(0); }
    double bias(int i, int j, int head = 0, const Vector& q = {}, const Vector& k = {}, double scale = 1) const {
        const Place query{i}, key{j};
        return oracle().bias({0, head, scale}, {q, query, {}}, {k, key, {}});
    }
    Vector rotated(Vector x, const Place& at, Role role = Role::query, int head = 0) const {
        oracle().rotate(x, at, role, 0, head);
        return x;
    }
    Tensors tensors;
    Oracles oracles;
};

void expect_equal(const Vector& a, const Vector& b, double tolerance = 1e-12) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(KerpleOracle, LogarithmAndClamps) {
    const Tensors tensors = {{"encoding.kerple.layers.0.r1", row_of({2, 2, 1, 1})},
                             {"encoding.kerple.layers.0.r2", row_of({0.5, -3, 9, 2})}};
    const Subject log("kerple:kernel=log", tensors), power("kerple:kernel=power", tensors);
    EXPECT_NEAR(log.bias(6, 0, 0), -2 * std::log(4), 1e-12);
    EXPECT_NEAR(log.bias(0, 6, 1), -2 * std::log(1.06), 1e-12);
    EXPECT_NEAR(power.bias(3, 0, 2), -9, 1e-12); // the exponent is clamped below 2
    EXPECT_EQ(power.bias(3, 3, 2), 0);
}

TEST(ShawOracle, ClipsAndMixes) {
    const Tensors tensors = {{"encoding.shaw.layers.0.keys", some(5, 6)},
                             {"encoding.shaw.layers.0.values", some(5, 6, 2)}};
    const Subject shaw("shaw:clip=2,values=yes", tensors);
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

    const Subject zeros("shaw:clip=2,values=no", {{"encoding.shaw.layers.0.keys", Matrix(5, 6)}});
    EXPECT_EQ(zeros.bias(9, 0, 2, q), 0);
    zeros.oracle().mix(out, 0.25, {0, 0, 1}, {q, i, {}}, {q, j, {}}); // uses no tensor
}

TEST(TransformerXlOracle, IsTheFourTermsOfThePaper) {
    const std::string of = "encoding.transformer-xl.layers.0.";
    const Tensors tensors = {{of + "projection", some(24, 8)}, {of + "u", some(4, 6, 2)}, {of + "v", some(4, 6, 3)}};
    const Subject xl("transformer-xl:width=8", tensors);
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
}

TEST(DebertaOracle, TermsAndTheirScale) {
    const std::string of = "encoding.deberta.layers.0.";
    const Matrix keys = some(8, 24), queries = some(8, 24, 2);
    const Tensors tensors = {{of + "keys", keys}, {of + "queries", queries}};
    const Subject both("deberta:span=4,terms=both", tensors), c2p("deberta:span=4,terms=c2p", tensors),
        p2c("deberta:span=4,terms=p2c", tensors);
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

TEST(CopeOracle, CountsTheGatesFromTheEnd) {
    Matrix e(4, 6);
    for (int p = 0; p < 4; ++p) e.at(p, 0) = 10 * p; // q.e[p] = 10 p
    const Subject cope("cope:positions=4", {{"encoding.cope.layers.0.weight", e}});
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

TEST(ForgetOracle, SumsTheLogarithmsOfTheGatesBetween) {
    const Matrix weight = some(4, 24);
    const Subject forget("forget", {{"encoding.forget.layers.1.gate.weight", weight},
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

} // namespace oracle_spec_test
} // namespace ordo::reference
