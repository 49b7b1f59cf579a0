// SPDX-License-Identifier: MIT
// Dai et al. 2019, section 3.3: A_ij = q_i.k_j + q_i.(W R_{i-j}) + u.k_j + v.(W R_{i-j}), with R_t = [sin(t w) ..,
// cos(t w) ..].
#include "tests/encoding/single_encoding.h"

#include <cmath>

namespace ordo {
namespace transformer_xl_test {

using namespace test;

constexpr int e = 6, width = 10;

Dims dims(Mask mask = Mask::causal) {
    return {.d_model = width, .n_heads = 3, .d_head = e, .n_layers = 2, .context = 64, .n_kv_heads = 0, .mask = mask};
}

double sinusoid(std::int64_t t, int c) {
    const int n = width / 2;
    const double angle = static_cast<double>(t) * std::pow(10000.0, -2.0 * (c % n) / width);
    return c < n ? std::sin(angle) : std::cos(angle);
}

// v and the projected sinusoids of one head, without u.
double expected_bias(Single& xl, const TileData& data, int layer, int head, int i, int j, double scale) {
    const std::int64_t t = std::int64_t{data.query_ids[i]} - data.key_ids[j];
    double sum = 0;
    for (int c = 0; c < e; ++c) {
        double r = 0;
        for (int m = 0; m < width; ++m) r += xl.tensor(layer, 0).at(head * e + c, m) * sinusoid(t, m);
        sum += (data.q.at(i, c) + xl.tensor(layer, 2).at(head, c)) * r;
    }
    return scale * sum;
}

// Applies ROTATE to the head's queries.
void add_u(Single& xl, TileData& data, int layer, int head) {
    xl.encoding->rotate(data.q.view(), {.layer = layer,
                                        .first_head = head,
                                        .n_heads = 1,
                                        .role = Role::query,
                                        .positions = Positions(data.query_ids)});
}

TEST(TransformerXl, ScoresAreThoseOfThePaper) {
    for (const Mask mask : {Mask::causal, Mask::bidirectional})
        for (const int prepared : {0, 40, 300}) {
            Single xl("transformer-xl", dims(mask), prepared);
            for (const Placing& at : placings()) {
                TileData data(e, at.queries, at.keys), plain = data;
                add_u(xl, data, 1, 2);
                for (int i = 0; i < data.q.rows; ++i)
                    for (int c = 0; c < e; ++c)
                        ASSERT_FLOAT_EQ(data.q.values[i * e + c],
                                        static_cast<float>(plain.q.at(i, c) + xl.tensor(1, 1).at(2, c)));
                Normals scores(data.q.rows, data.k.rows, 3), before = scores;
                xl.encoding->bias(scores.view(), data.tile(1, 2));
                for (int i = 0; i < scores.rows; ++i)
                    for (int j = 0; j < scores.cols; ++j)
                        ASSERT_NEAR(scores.at(i, j) - before.at(i, j), expected_bias(xl, plain, 1, 2, i, j, 0.4f), 2e-5)
                            << at.name << " " << i << ", " << j << " prepared " << prepared;
            }
        }
}

TEST(TransformerXl, KeysStayAndHeadsHaveTheirOwnU) {
    Single xl("transformer-xl", dims());
    const std::vector<int> at = {4, 9};
    Normals x(2, 2 * e, 1), same = x;
    HeadRows rows{.layer = 1, .first_head = 1, .n_heads = 2, .role = Role::key, .positions = Positions(at)};
    xl.encoding->rotate(x.view(), rows);
    EXPECT_EQ(x.values, same.values);
    rows.role = Role::query;
    xl.encoding->rotate(x.view(), rows);
    for (int i = 0; i < 2; ++i)
        for (int c = 0; c < 2 * e; ++c)
            EXPECT_FLOAT_EQ(static_cast<float>(x.at(i, c)),
                            static_cast<float>(same.at(i, c) + xl.tensor(1, 1).at(1 + c / e, c % e)));
}

// Neither tables nor tiles nor neighbouring queries change a bit.
TEST(TransformerXl, TablesAndTilesChangeNoBit) {
    Single none("transformer-xl", dims(), 0), some("transformer-xl", dims(), 70), all("transformer-xl", dims(), 4000);
    for (const Placing& at : placings()) {
        TileData data(e, at.queries, at.keys);
        Normals a(data.q.rows, data.k.rows, 0, 0), b = a, c = a;
        none.encoding->bias(a.view(), data.tile(0, 1));
        some.encoding->bias(b.view(), data.tile(0, 1));
        all.encoding->bias(c.view(), data.tile(0, 1));
        EXPECT_EQ(a.values, b.values) << at.name;
        EXPECT_EQ(a.values, c.values) << at.name;
        for (int i = 0; i < data.q.rows; ++i) {
            Tile one = data.tile(0, 1);
            one.q = rows_of(one.q, i, 1);
            one.queries = one.queries.subspan(i, 1);
            one.keys = one.keys.subspan(0, i + 1);
            Normals alone(1, i + 1, 0, 0);
            some.encoding->bias(alone.view(), one);
            for (int j = 0; j <= i; ++j) ASSERT_EQ(alone.at(0, j), a.at(i, j)) << at.name << " " << i << ", " << j;
        }
    }
}

TEST(TransformerXl, WithZerosChangesNothing) {
    Single xl("transformer-xl", dims());
    for (const int t : {0, 1, 2}) std::fill(xl.tensor(0, t).values.begin(), xl.tensor(0, t).values.end(), 0.0f);
    xl.prepare(64);
    TileData data(e, counting(100, 30), counting(0, 130)), same = data;
    Normals scores(30, 130, 3), before = scores;
    add_u(xl, data, 0, 0);
    xl.encoding->bias(scores.view(), data.tile(0, 0));
    EXPECT_EQ(scores.values, before.values);
    EXPECT_EQ(data.q.values, same.q.values);
}

// Checks every step-th variable, or fewer.
void expect_gradients(const std::string& spec, const Placing& at, int step) {
    Single xl(spec, dims(), 70);
    TileData data(e, at.queries, at.keys);
    const Normals w(data.q.rows, data.k.rows, 9, 0.1);
    const auto loss = [&] { // of the queries before ROTATE, without the content's product
        xl.prepare(70);
        TileData turned = data;
        add_u(xl, turned, 0, 1);
        Normals scores(w.rows, w.cols, 0, 0);
        xl.encoding->bias(scores.view(), turned.tile(0, 1));
        return dot(scores, w);
    };
    TileData turned = data;
    add_u(xl, turned, 0, 1);
    Normals d_scores = w;
    const std::vector<View> grads = xl.grads_of(0);
    xl.encoding->bias_backward(d_scores.view(), turned.tile(0, 1), turned.gradient(grads));
    expect_gradient(data.q, turned.dq, loss, at.name + " q", 7 * step);
    expect_gradient(xl.tensor(0, 0), xl.grads[0][0], loss, at.name + " projection", 3 * step);
    expect_gradient(xl.tensor(0, 2), xl.grads[0][2], loss, at.name + " v", step);

    // u acts on the content alone, so the contributions of BIAS and ROTATE to it cancel here.
    xl.encoding->rotate_backward(
        turned.dq.view(), turned.q.view(),
        {.layer = 0, .first_head = 1, .n_heads = 1, .role = Role::query, .positions = Positions(data.query_ids)},
        grads);
    for (std::size_t i = 0; i < xl.grads[0][1].values.size(); ++i)
        EXPECT_NEAR(xl.grads[0][1].values[i], 0, 1e-4 * std::abs(xl.grads[0][2].values[i]) + 1e-4);
}

TEST(TransformerXl, GradientsAreThoseOfTheForward) {
    for (const Placing& at : placings()) expect_gradients("transformer-xl", at, at.name == "far" ? 11 : 1);
    // Wider than one step sums.
    expect_gradients("transformer-xl:width=300", {"wide", counting(50, 9), counting(0, 59)}, 17);
}

TEST(TransformerXl, ContentHandsItsGradientToU) {
    Single xl("transformer-xl", dims());
    Normals dx(4, 2 * e, 3), kept = dx;
    const std::vector<int> at = counting(0, 4);
    const std::vector<View> grads = xl.grads_of(1);
    HeadRows rows{.layer = 1, .first_head = 1, .n_heads = 2, .role = Role::query, .positions = Positions(at)};
    xl.encoding->rotate_backward(dx.view(), dx.view(), rows, grads);
    EXPECT_EQ(dx.values, kept.values);
    for (int c = 0; c < 2 * e; ++c) {
        double sum = 0;
        for (int i = 0; i < 4; ++i) sum += dx.at(i, c);
        EXPECT_NEAR(xl.grads[1][1].at(1 + c / e, c % e), sum, 1e-5);
    }
    rows.role = Role::key;
    const std::vector<float> before = xl.grads[1][1].values;
    xl.encoding->rotate_backward(dx.view(), dx.view(), rows, grads);
    EXPECT_EQ(xl.grads[1][1].values, before);
}

TEST(TransformerXl, TablesShowSinusoidsAndVectors) {
    Single xl("transformer-xl", dims());
    const Table s = xl.encoding->table({.length = 3, .start = 7});
    for (int c = 0; c < width; ++c) EXPECT_NEAR(s.rows[2][c], sinusoid(9, c), 1e-13);
    const Table r = xl.encoding->table({.length = 2, .start = 5, .head = 2, .part = "vectors", .layer = 1});
    for (int c = 0; c < e; ++c) {
        double sum = 0;
        for (int m = 0; m < width; ++m) sum += xl.tensor(1, 0).at(2 * e + c, m) * sinusoid(6, m);
        EXPECT_NEAR(r.rows[1][c], sum, 1e-12);
    }
    EXPECT_THROW(xl.encoding->table({.head = 3, .part = "vectors"}), Error);
    EXPECT_THROW(make_encodings("transformer-xl:width=3", dims()), Error);
}

} // namespace transformer_xl_test
} // namespace ordo
