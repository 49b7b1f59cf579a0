// SPDX-License-Identifier: MIT
// He et al. 2021, eq. 4: A~_ij = Qc_i Kc_j + Qc_i Kr_delta(i,j) + Kc_j Qr_delta(j,i), over sqrt(3 d). Eq. 3: delta(a,
// b) is 0 where a - b <= -k, 2k - 1 where a - b >= k, and a - b + k otherwise.
#include "tests/encoding/single_encoding.h"

#include <cmath>

namespace ordo {
namespace deberta_test {

using namespace test;

constexpr int e = 6;

Dims dims(Mask mask = Mask::causal) {
    return {.d_model = 20, .n_heads = 3, .d_head = e, .n_layers = 2, .context = 64, .mask = mask};
}
constexpr Mask masks[] = {Mask::causal, Mask::bidirectional};

int delta(int a, int b, int k) {
    if (a - b <= -k) return 0;
    if (a - b >= k) return 2 * k - 1;
    return a - b + k;
}

void rotate(Single& deberta, TileData& data) {
    for (const Role role : {Role::query, Role::key}) {
        const bool query = role == Role::query;
        deberta.encoding->rotate((query ? data.q : data.k).view(),
                                 {.layer = 1,
                                  .first_head = 2,
                                  .n_heads = 1,
                                  .role = role,
                                  .positions = Positions(query ? data.query_ids : data.key_ids)});
    }
}

TEST(Deberta, ScoresAreThoseOfThePaper) {
    for (const std::string terms : {"both", "c2p", "p2c"})
        for (const int span : {1, 8, 100})
            for (const Mask mask : masks) {
                Single deberta("deberta:span=" + std::to_string(span) + ",terms=" + terms, dims(mask));
                const Normals& keys = deberta.tensor(1, 0);
                const Normals& queries = deberta.tensor(1, terms == "both" ? 1 : 0);
                const double f = 1 / std::sqrt(terms == "both" ? 3.0 : 2.0);
                for (const Placing& at : placings()) {
                    TileData data(e, at.queries, at.keys), plain = data;
                    rotate(deberta, data);
                    EXPECT_EQ(data.k.values, plain.k.values);
                    Normals scores(data.q.rows, data.k.rows, 3, 0);
                    deberta.encoding->bias(scores.view(), data.tile(1, 2));
                    for (int i = 0; i < scores.rows; ++i)
                        for (int j = 0; j < scores.cols; ++j) {
                            if (!data.sees(mask, i, j)) continue;
                            const int a = data.query_ids[i];
                            const int b = data.key_ids[j];
                            double found = scores.at(i, j), sum = 0;
                            for (int c = 0; c < e; ++c) {
                                found += 0.4f * data.q.at(i, c) * data.k.at(j, c);
                                sum += plain.q.at(i, c) * plain.k.at(j, c);
                                if (terms != "p2c") sum += plain.q.at(i, c) * keys.at(delta(a, b, span), 2 * e + c);
                                if (terms != "c2p") sum += plain.k.at(j, c) * queries.at(delta(b, a, span), 2 * e + c);
                            }
                            ASSERT_NEAR(found, 0.4f * f * sum, 1e-5)
                                << terms << " " << span << " " << at.name << " " << i << ", " << j;
                        }
                }
            }
}

TEST(Deberta, ReadsAndStoresWhatItsTermsNeed) {
    const Single both("deberta", dims()), c2p("deberta:terms=c2p,span=4", dims()), p2c("deberta:terms=p2c", dims());
    EXPECT_EQ(both.encoding->spec(), "deberta:span=128,terms=both");
    EXPECT_EQ(both.encoding->reads(), reads_queries | reads_keys);
    EXPECT_EQ(c2p.encoding->reads(), unsigned{reads_queries});
    EXPECT_EQ(p2c.encoding->reads(), unsigned{reads_keys});
    ASSERT_EQ(both.encoding->tensors().size(), 2u);
    EXPECT_EQ(c2p.encoding->tensors().at(0).name, "keys");
    EXPECT_EQ(c2p.encoding->tensors().at(0).shape, (std::vector<std::int64_t>{8, 3 * e}));
    EXPECT_EQ(p2c.encoding->tensors().at(0).name, "queries");
}

TEST(Deberta, GradientsAreThoseOfTheForward) {
    for (const std::string terms : {"both", "c2p", "p2c"})
        for (const Mask mask : masks)
            for (const Placing& at : placings()) {
                Single deberta("deberta:span=7,terms=" + terms, dims(mask));
                TileData data(e, at.queries, at.keys);
                const Normals w = data.masked(mask, Normals(data.q.rows, data.k.rows, 9, 0.1));
                const auto loss = [&] {
                    deberta.prepare(64);
                    Normals scores(w.rows, w.cols, 0, 0);
                    deberta.encoding->bias(scores.view(), data.tile(0, 1));
                    return dot(scores, w);
                };
                Normals d_scores = w;
                const std::vector<View> grads = deberta.grads_of(0);
                deberta.encoding->bias_backward(d_scores.view(), data.tile(0, 1), data.gradient(grads));
                if (terms != "p2c") {
                    expect_gradient(data.q, data.dq, loss, at.name + " q", 7);
                    expect_gradient(deberta.tensor(0, 0), deberta.grads[0][0], loss, at.name + " keys", 5);
                }
                if (terms != "c2p") {
                    const int t = terms == "both" ? 1 : 0;
                    expect_gradient(data.k, data.dk, loss, at.name + " k", 37);
                    expect_gradient(deberta.tensor(0, t), deberta.grads[0][t], loss, at.name + " queries", 5);
                }
            }
}

TEST(Deberta, BackwardOfRotateIsItsFactor) {
    Single deberta("deberta", dims());
    Normals dx(4, 2 * e, 3), kept = dx;
    HeadRows rows{.layer = 1, .first_head = 1, .n_heads = 2, .role = Role::query, .positions = {}};
    deberta.encoding->rotate_backward(dx.view(), dx.view(), rows, {});
    for (std::size_t i = 0; i < dx.values.size(); ++i)
        EXPECT_FLOAT_EQ(dx.values[i], static_cast<float>(kept.values[i] / std::sqrt(3.0)));
    rows.role = Role::key;
    kept = dx;
    deberta.encoding->rotate_backward(dx.view(), dx.view(), rows, {});
    EXPECT_EQ(dx.values, kept.values);
}

TEST(Deberta, TilesChangeNoBit) {
    for (const Placing& at : placings()) {
        Single deberta("deberta:span=70", dims());
        TileData data(e, at.queries, at.keys);
        Normals all(data.q.rows, data.k.rows, 0, 0);
        const Tile whole = data.tile(0, 0);
        deberta.encoding->bias(all.view(), whole);
        for (int i = 0; i < data.q.rows; ++i) {
            Tile one = whole;
            one.q = rows_of(whole.q, i, 1);
            one.queries = whole.queries.subspan(i, 1);
            const int first = i % 3, keys = whole.first_query + i + 1 - first;
            one.first_query = whole.first_query + i;
            one.first_key = first;
            one.keys = whole.keys.subspan(first, keys);
            one.k = rows_of(whole.k, first, keys);
            Normals scores(1, keys, 0, 0);
            deberta.encoding->bias(scores.view(), one);
            for (int j = 0; j < keys; ++j)
                ASSERT_EQ(scores.at(0, j), all.at(i, first + j)) << at.name << " " << i << ", " << j;
        }
    }
}

TEST(Deberta, TablesShowTheVectorsByDistance) {
    Single deberta("deberta:span=3", dims());
    const Table keys = deberta.encoding->table({.head = 1, .part = "keys", .layer = 1});
    const Table queries = deberta.encoding->table({.head = 1, .part = "queries", .layer = 1});
    ASSERT_EQ(keys.rows.size(), 6u);
    for (const auto& row : keys.rows) // p_j - p_i
        EXPECT_EQ(row[2], deberta.tensor(1, 0).at(delta(0, static_cast<int>(row[0]), 3), e + 1));
    for (const auto& row : queries.rows)
        EXPECT_EQ(row[2], deberta.tensor(1, 1).at(delta(static_cast<int>(row[0]), 0, 3), e + 1));
}

} // namespace deberta_test
} // namespace ordo
