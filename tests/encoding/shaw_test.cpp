// SPDX-License-Identifier: MIT
// Shaw et al. 2018: e_ij = x_i W_Q (x_j W_K + a^K_ij)^T / sqrt(d), z_i = sum_j alpha_ij (x_j W_V + a^V_ij), with
// a_ij = w_clip(j - i, k).
#include "tests/encoding/single_encoding.h"

namespace ordo {
namespace shaw_test {

using namespace test;

Dims dims(Mask mask = Mask::causal) {
    return {.d_model = 20, .n_heads = 3, .d_head = 6, .n_layers = 2, .context = 64, .mask = mask};
}
constexpr Mask masks[] = {Mask::causal, Mask::bidirectional};

int row_of(int clip, int query, int key) {
    return std::clamp(key - query, -clip, clip) + clip;
}

TEST(Shaw, ScoresMeetTheVectorOfTheirDistance) {
    for (const int clip : {0, 1, 16, 100})
        for (const Mask mask : masks) {
            Single shaw("shaw:clip=" + std::to_string(clip), dims(mask));
            for (const Placing& at : placings()) {
                TileData data(6, at.queries, at.keys);
                Normals scores(data.q.rows, data.k.rows, 3), before = scores;
                shaw.encoding->bias(scores.view(), data.tile(1, 2));
                const Normals& keys = shaw.tensor(1, 0);
                for (int i = 0; i < scores.rows; ++i)
                    for (int j = 0; j < scores.cols; ++j) {
                        if (!data.sees(mask, i, j)) continue;
                        double sum = 0;
                        const int r = row_of(clip, data.query_ids[i], data.key_ids[j]);
                        for (int c = 0; c < 6; ++c) sum += data.q.at(i, c) * keys.at(r, c);
                        ASSERT_NEAR(scores.at(i, j), before.at(i, j) + 0.4f * sum, 3e-6)
                            << clip << " " << at.name << " " << i << ", " << j;
                    }
            }
        }
}

TEST(Shaw, OutputsAddTheVectorsOfTheirDistances) {
    for (const int clip : {0, 1, 16, 100})
        for (const Mask mask : masks) {
            Single shaw("shaw:clip=" + std::to_string(clip), dims(mask));
            for (const Placing& at : placings()) {
                TileData data(6, at.queries, at.keys);
                Normals weights = data.masked(mask, Normals(data.q.rows, data.k.rows, 3, 0.1)), out(data.q.rows, 6, 4),
                        before = out;
                shaw.encoding->mix(out.view(), weights.view(), data.tile(1, 2));
                for (int i = 0; i < out.rows; ++i)
                    for (int c = 0; c < 6; ++c) {
                        double sum = before.at(i, c);
                        for (int j = 0; j < weights.cols; ++j)
                            sum += weights.at(i, j) *
                                   shaw.tensor(1, 1).at(row_of(clip, data.query_ids[i], data.key_ids[j]), c);
                        ASSERT_NEAR(out.at(i, c), sum, 5e-6) << clip << " " << at.name << " " << i << ", " << c;
                    }
            }
        }
}

TEST(Shaw, WithZerosChangesNothing) {
    Single shaw("shaw", dims());
    for (Normals& tensor : shaw.tensors[0]) std::fill(tensor.values.begin(), tensor.values.end(), 0.0f);
    shaw.prepare(64);
    TileData data(6, counting(100, 30), counting(0, 130));
    Normals scores(30, 130, 3), same = scores, out(30, 6, 4), kept = out;
    shaw.encoding->bias(scores.view(), data.tile(0, 0));
    shaw.encoding->mix(out.view(), scores.view(), data.tile(0, 0));
    EXPECT_EQ(scores.values, same.values);
    EXPECT_EQ(out.values, kept.values);
}

TEST(Shaw, WithoutValuesThereIsNothingToMix) {
    Single shaw("shaw:values=no,clip=4", dims());
    EXPECT_EQ(shaw.encoding->spec(), "shaw:clip=4,values=no");
    EXPECT_EQ(shaw.encoding->moments(), unsigned{moment_bias});
    ASSERT_EQ(shaw.encoding->tensors().size(), 1u);
    EXPECT_EQ(shaw.encoding->tensors()[0].shape, (std::vector<std::int64_t>{9, 6}));
    EXPECT_EQ(Single("shaw", dims()).encoding->moments(), moment_bias | moment_mix);
}

TEST(Shaw, GradientsAreThoseOfTheForward) {
    for (const Mask mask : masks)
        for (const Placing& at : placings()) {
            Single shaw("shaw:clip=5", dims(mask));
            TileData data(6, at.queries, at.keys);
            const Normals w = data.masked(mask, Normals(data.q.rows, data.k.rows, 9));
            const auto loss = [&] {
                shaw.prepare(64);
                Normals scores(w.rows, w.cols, 0, 0);
                shaw.encoding->bias(scores.view(), data.tile(0, 1));
                return dot(scores, w);
            };
            Normals d_scores = w;
            const std::vector<View> grads = shaw.grads_of(0);
            shaw.encoding->bias_backward(d_scores.view(), data.tile(0, 1), data.gradient(grads));
            expect_gradient(data.q, data.dq, loss, at.name + " q", 7);
            expect_gradient(shaw.tensor(0, 0), shaw.grads[0][0], loss, at.name + " keys", 3);

            Normals weights = data.masked(mask, Normals(w.rows, w.cols, 10, 0.1)), d_weights(w.rows, w.cols, 0, 0),
                    d_out(w.rows, 6, 11);
            const auto mixed = [&] {
                shaw.prepare(64);
                Normals out(d_out.rows, 6, 0, 0);
                Normals seen = data.masked(mask, weights);
                shaw.encoding->mix(out.view(), seen.view(), data.tile(0, 1));
                return dot(out, d_out);
            };
            shaw.encoding->mix_backward(d_out.view(), weights.view(), d_weights.view(), data.tile(0, 1),
                                        data.gradient(grads));
            d_weights = data.masked(mask, d_weights);
            expect_gradient(weights, d_weights, mixed, at.name + " weights", 131);
            expect_gradient(shaw.tensor(0, 1), shaw.grads[0][1], mixed, at.name + " values", 3);
        }
}

// A query's result depends neither on the other queries of its tile nor on the tile that holds its keys.
TEST(Shaw, TilesChangeNoBit) {
    for (const Placing& at : placings()) {
        Single shaw("shaw:clip=70", dims());
        TileData data(6, at.queries, at.keys);
        Normals all(data.q.rows, data.k.rows, 0, 0), out(data.q.rows, 6, 0, 0);
        Normals weights = data.masked(Mask::causal, Normals(data.q.rows, data.k.rows, 8, 0.1));
        const int n = data.k.rows;
        const Tile whole = data.tile(0, 0);
        shaw.encoding->bias(all.view(), whole);
        shaw.encoding->mix(out.view(), weights.view(), whole);
        for (int i = 0; i < data.q.rows; ++i) {
            const int keys = n - data.q.rows + i + 1;
            Tile one = whole;
            one.q = rows_of(whole.q, i, 1);
            one.first_query = whole.first_query + i;
            one.queries = whole.queries.subspan(i, 1);
            one.keys = whole.keys.subspan(0, keys);
            Normals scores(1, keys, 0, 0), alone(1, 6, 0, 0);
            shaw.encoding->bias(scores.view(), one);
            shaw.encoding->mix(alone.view(), cols_of(rows_of(weights.view(), i, 1), 0, keys), one);
            for (int j = 0; j < keys; ++j) ASSERT_EQ(scores.at(0, j), all.at(i, j)) << at.name << " " << i << ", " << j;
            for (int c = 0; c < 6; ++c) ASSERT_EQ(alone.at(0, c), out.at(i, c)) << at.name << " " << i << ", " << c;
        }
    }
}

TEST(Shaw, TableShowsTheVectorsByDistance) {
    Single shaw("shaw:clip=2", dims());
    const Table table = shaw.encoding->table({.part = "values", .layer = 1});
    ASSERT_EQ(table.rows.size(), 5u);
    EXPECT_EQ(table.header[0], "distance");
    EXPECT_EQ(table.rows[0][0], -2);
    EXPECT_EQ(table.rows[4][3], shaw.tensor(1, 1).at(4, 2));
    EXPECT_THROW(shaw.encoding->table({.layer = 2}), Error);
    EXPECT_THROW(make_encodings("shaw", dims()).at(0)->table({}), Error) << "there are no weights";
}

} // namespace shaw_test
} // namespace ordo
