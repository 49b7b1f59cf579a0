// SPDX-License-Identifier: MIT
// Golovneva et al. 2024: g_ij = sigmoid(q_i.k_j), p_ij = sum_{k=j}^{i} g_ik. The vector e[p] is interpolated between
// the neighbouring whole positions.
#include "tests/encoding/single_encoding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ordo {
namespace cope_test {

using namespace test;

constexpr int e = 6;

Dims dims() {
    return {.d_model = 20, .n_heads = 3, .d_head = e, .n_layers = 2, .context = 64};
}

// The row after CoPE by the paper's formula, with each position summed anew.
std::vector<double> expected_row(const std::vector<double>& scores, const std::vector<double>& q,
                                 const Normals& weight) {
    std::vector<double> out = scores;
    for (std::size_t j = 0; j < scores.size(); ++j) {
        double p = 0;
        for (std::size_t k = j; k < scores.size(); ++k) p += 1 / (1 + std::exp(-scores[k]));
        p = std::min(p, weight.rows - 1.0);
        const int low = static_cast<int>(std::floor(p)), high = static_cast<int>(std::ceil(p));
        for (int c = 0; c < e; ++c)
            out[j] += q[c] * ((1 - (p - low)) * weight.at(low, c) + (p - low) * weight.at(high, c));
    }
    return out;
}

std::vector<double> doubles(const Normals& m) {
    return {m.values.begin(), m.values.end()};
}

struct Row {
    explicit Row(int keys, double mean = 0) : data(e, {keys - 1}, counting(0, keys)), scores(1, keys, 21, 2) {
        for (float& score : scores.values) score += static_cast<float>(mean);
    }
    TileData data;
    Normals scores;
};

TEST(Cope, RowsAreThoseOfThePaper) {
    for (const int positions : {1, 2, 16, 64, 300})
        for (const int keys : {1, 2, 63, 128, 129, 500})
            for (const double mean : {-4.0, 0.0, 3.0}) {
                Single cope("cope:positions=" + std::to_string(positions), dims());
                Row row(keys, mean);
                const auto expected = expected_row(doubles(row.scores), doubles(row.data.q), cope.tensor(1, 0));
                cope.encoding->rescore(row.scores.view(), row.data.tile(1, 2));
                for (int j = 0; j < keys; ++j)
                    ASSERT_NEAR(row.scores.at(0, j), expected[j], 5e-5)
                        << positions << " " << keys << " " << mean << " " << j;
            }
}

// Keys after a NaN score equal those of a row without it. CoPE neither computes with the keys before it nor reads
// outside its table.
TEST(Cope, AScoreThatIsNoNumberEndsTheCount) {
    for (const int keys : {40, 200}) {
        Single cope("cope:positions=300", dims());
        Row row(keys), rest(keys);
        row.scores.values[keys / 2] = std::numeric_limits<float>::quiet_NaN();
        cope.encoding->rescore(row.scores.view(), row.data.tile(1, 2));
        cope.encoding->rescore(rest.scores.view(), rest.data.tile(1, 2));
        EXPECT_TRUE(std::isnan(row.scores.at(0, keys / 2)));
        for (int j = keys / 2 + 1; j < keys; ++j) EXPECT_EQ(row.scores.at(0, j), rest.scores.at(0, j)) << j;
    }
}

// Fills the stack with values that would be noticed if later code read uninitialised memory.
[[gnu::noinline]] void leave_nothing_usable() {
    volatile float left[40000];
    for (volatile float& value : left) value = std::numeric_limits<float>::quiet_NaN();
}

// Rounding alone may carry a sum to the last position. The keys before the full ones must then use neighbours that
// exist. Gates of 1e-12 leave the sums of their neighbours unchanged, which may have been rounded up.
TEST(Cope, ACountThatRoundsUpToTheLastPositionIsFull) {
    const auto score_of = [](double gate) { return static_cast<float>(std::log(gate / (1 - gate))); };
    constexpr double gates[] = {0.15207464, 0.12842491, 0.71950042};
    for (const int keys : {3, 4, 5, 7, 8, 15, 16, 17})
        for (int ulps = -40; ulps <= 40; ++ulps) {
            Single cope("cope:positions=2", dims());
            Row row(keys);
            std::vector<float>& scores = row.scores.values;
            std::fill(scores.begin(), scores.end() - 3, score_of(1e-12));
            std::transform(std::begin(gates), std::end(gates), scores.end() - 3, score_of);
            for (int i = 0; i < std::abs(ulps); ++i)
                scores.back() = std::nextafter(scores.back(), ulps > 0 ? 9.0f : -9.0f);
            const auto expected = expected_row(doubles(row.scores), doubles(row.data.q), cope.tensor(1, 0));
            const auto tile = row.data.tile(1, 2);
            leave_nothing_usable();
            cope.encoding->rescore(row.scores.view(), tile);
            for (int j = 0; j < keys; ++j) ASSERT_NEAR(row.scores.at(0, j), expected[j], 5e-5) << keys << " " << ulps;
        }
}

TEST(Cope, WithOpenGatesItCountsTheDistance) {
    Single cope("cope:positions=10", dims());
    Row row(30);
    std::fill(row.scores.values.begin(), row.scores.values.end(), 60.0f);
    cope.encoding->rescore(row.scores.view(), row.data.tile(0, 0));
    for (int j = 0; j < 30; ++j) {
        double z = 60;
        for (int c = 0; c < e; ++c) z += row.data.q.at(0, c) * cope.tensor(0, 0).at(std::min(30 - j, 9), c);
        EXPECT_NEAR(row.scores.at(0, j), z, 1e-5) << j;
    }
}

TEST(Cope, WithShutGatesAndWithZerosNothingCounts) {
    Single cope("cope", dims());
    Row row(30);
    std::fill(row.scores.values.begin(), row.scores.values.end(), -80.0f);
    cope.encoding->rescore(row.scores.view(), row.data.tile(0, 0));
    for (int j = 1; j < 30; ++j) EXPECT_EQ(row.scores.at(0, j), row.scores.at(0, 0));

    std::fill(cope.tensor(0, 0).values.begin(), cope.tensor(0, 0).values.end(), 0.0f);
    cope.prepare(64);
    Row other(30), same(30);
    cope.encoding->rescore(other.scores.view(), other.data.tile(0, 0));
    EXPECT_EQ(other.scores.values, same.scores.values);
    const InitialValues initial = cope.encoding->tensors().at(0).initial;
    EXPECT_EQ(initial.kind, InitialValues::Kind::constant);
    EXPECT_EQ(initial.a, 0);
}

TEST(Cope, PositionIdsDoNotMatter) {
    Single cope("cope", dims());
    Row a(50), b(50);
    for (int& id : b.data.key_ids) id = 7 * id + 1000;
    cope.encoding->rescore(a.scores.view(), a.data.tile(0, 0));
    cope.encoding->rescore(b.scores.view(), b.data.tile(0, 0));
    EXPECT_EQ(a.scores.values, b.scores.values);
}

// Uses central differences of the formula in double. Positions have kinks at whole numbers, so steps must be small.
TEST(Cope, GradientsAreThoseOfTheFormula) {
    for (const int positions : {2, 20, 300})
        for (const int keys : {1, 40, 200}) {
            Single cope("cope:positions=" + std::to_string(positions), dims());
            Row row(keys, -0.5);
            const Normals w(1, keys, 9);
            Normals ds = w;
            const std::vector<View> grads = cope.grads_of(0);
            cope.encoding->rescore_backward(ds.view(), row.scores.view(), row.data.tile(0, 1),
                                            row.data.gradient(grads));

            std::vector<double> scores = doubles(row.scores), q = doubles(row.data.q);
            const auto loss = [&](const Normals& weight) {
                double sum = 0;
                const std::vector<double> out = expected_row(scores, q, weight);
                for (int j = 0; j < keys; ++j) sum += w.at(0, j) * out[j];
                return sum;
            };
            const auto expect = [&](std::vector<double>& variables, const std::vector<float>& found, const char* what) {
                constexpr double h = 1e-6;
                double size = 0;
                for (const float value : found) size = std::max(size, std::abs(static_cast<double>(value)));
                for (std::size_t i = 0; i<variables.size(); i += variables.size()> 50 ? 7 : 1) {
                    const double kept = variables[i];
                    variables[i] = kept + h;
                    const double above = loss(cope.tensor(0, 0));
                    variables[i] = kept - h;
                    const double below = loss(cope.tensor(0, 0));
                    variables[i] = kept;
                    const double expected = (above - below) / (2 * h);
                    ASSERT_NEAR(found[i], expected, 1e-3 * std::max(0.1 * size, std::abs(expected)))
                        << what << " " << i << " of " << positions << ", " << keys;
                }
            };
            expect(scores, ds.values, "score");
            expect(q, row.data.dq.values, "q");
            const auto of_weight = [&] { return loss(cope.tensor(0, 0)); };
            expect_gradient(cope.tensor(0, 0), cope.grads[0][0], of_weight, "weight", positions == 300 ? 13 : 1);
        }
}

TEST(Cope, ShowsItsVectors) {
    Single cope("cope:positions=5", dims());
    const Table table = cope.encoding->table({.layer = 1});
    ASSERT_EQ(table.rows.size(), 5u);
    EXPECT_EQ(table.rows[3][2], cope.tensor(1, 0).at(3, 2));
    EXPECT_THROW(cope.encoding->table({.layer = 5}), Error);
    EXPECT_THROW(make_encodings("cope:positions=0", dims()), Error);
}

} // namespace cope_test
} // namespace ordo
