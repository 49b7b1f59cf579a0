// SPDX-License-Identifier: MIT
// Rotations: the published matrices and the properties that attention relies on.
#include "encoding/base/rotation.h"

#include "core/random.h"
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo {
namespace rope_test {

constexpr int e = 8; // columns of a head

std::unique_ptr<Encoding> rope(const std::string& parameters = "", int d_head = e) {
    const Dims dims{d_head, 1, d_head, 1, 64};
    return std::move(make_encodings("rope" + (parameters.empty() ? "" : ":" + parameters), dims).at(0));
}

// x [n] at one position, as one row of n / d_head heads.
std::vector<float> rotate(const Encoding& encoding, std::vector<float> x, int position, int d_head = e) {
    const int cols = static_cast<int>(x.size());
    encoding.rotate(view(x.data(), 1, cols),
                    {.n_heads = cols / d_head, .role = Role::key, .positions = {{&position, 1}}});
    return x;
}

std::vector<float> normal(std::uint64_t seed, std::size_t n = e) {
    std::vector<float> x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(static_cast<float>(Random(seed, 0).normal(i)));
    return x;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
    return sum;
}

// The columns are the images of the unit vectors.
std::vector<std::vector<float>> matrix(const Encoding& encoding, int position) {
    std::vector<std::vector<float>> columns;
    for (std::size_t j = 0; j < e; ++j) {
        std::vector<float> unit(e);
        unit[j] = 1;
        columns.push_back(rotate(encoding, unit, position));
    }
    return columns;
}

// Su et al. 2021, eq. 15: blocks (cos t theta_i, -sin; sin, cos) with theta_i = 10000^(-2(i-1)/d).
TEST(Rope, IsTheBlockDiagonalMatrix) {
    const auto encoding = rope();
    for (const int t : {0, 1, 5, 77}) {
        const Table table = encoding->table({.length = 1, .start = t, .part = "matrix"});
        const auto columns = matrix(*encoding, t);
        ASSERT_EQ(table.rows.size(), static_cast<std::size_t>(e));
        for (std::size_t i = 0; i < e; ++i)
            for (std::size_t j = 0; j < e; ++j) {
                const auto pair = i / 2;
                const double angle = t * std::pow(10000, -2.0 * static_cast<double>(pair) / e);
                double expected = 0;
                if (i == j) expected = std::cos(angle);
                if (i / 2 == j / 2 && i < j) expected = -std::sin(angle);
                if (i / 2 == j / 2 && i > j) expected = std::sin(angle);
                EXPECT_NEAR(table.rows[i][j], expected, 1e-14) << t << ": " << i << ", " << j;
                EXPECT_NEAR(columns[j][i], expected, 1e-7) << t << ": " << i << ", " << j;
            }
    }
}

TEST(Rope, TableHasAngleCosineAndSineOfEachPositionAndPair) {
    const Table table = rope()->table({.length = 3, .start = 5, .part = ""});
    EXPECT_EQ(table.header, (std::vector<std::string>{"position", "pair", "angle", "cos", "sin"}));
    ASSERT_EQ(table.rows.size(), 12u);
    // Frequencies of a head of 8 are 1, 0.1, 0.01, 0.001.
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        const auto row = i / 4;
        const double position = 5.0 + static_cast<double>(row), pair = static_cast<double>(i % 4);
        const double angle = position * std::pow(10, -pair);
        const std::vector<double> expected = {position, pair, angle, std::cos(angle), std::sin(angle)};
        for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(table.rows[i][j], expected[j], 1e-12);
    }
    const Table frequency = rope()->table({.part = "frequency"});
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(frequency.rows[k][1], std::pow(10, -static_cast<int>(k)), 1e-15);
}

// R_i^T R_j = R_{j-i}, and not R_{i-j}: the sign of the distance matters.
TEST(Rope, ProductOfRotationsIsTheRotationOfTheDifference) {
    const auto encoding = rope();
    for (const auto& [i, j] : {std::pair(3, 10), std::pair(0, 4), std::pair(20, 1000)}) {
        const auto ri = matrix(*encoding, i), rj = matrix(*encoding, j), difference = matrix(*encoding, j - i);
        double wrong_sign = 0;
        for (std::size_t a = 0; a < e; ++a)
            for (std::size_t b = 0; b < e; ++b) {
                const double product = dot(ri[a], rj[b]); // row a of R_i^T, column b of R_j
                EXPECT_NEAR(product, difference[b][a], 3e-7);
                wrong_sign = std::max(wrong_sign, std::abs(product - difference[a][b]));
            }
        EXPECT_GT(wrong_sign, 0.5);
    }
}

TEST(Rope, ScoresDependOnTheDistanceAlone) {
    const auto encoding = rope();
    double turned_round = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const std::vector<float> q = normal(seed), k = normal(100 + seed);
        const double score = dot(rotate(*encoding, q, 7), rotate(*encoding, k, 3));
        for (const int shift : {1, 100, 99993})
            EXPECT_NEAR(dot(rotate(*encoding, q, 7 + shift), rotate(*encoding, k, 3 + shift)), score, 5e-6);
        const double reversed = dot(rotate(*encoding, q, 3), rotate(*encoding, k, 7));
        turned_round = std::max(turned_round, std::abs(reversed - score));
        EXPECT_NEAR(dot(rotate(*encoding, q, 50), rotate(*encoding, q, 50)), dot(q, q), 1e-5); // rotation keeps lengths
    }
    EXPECT_GT(turned_round, 0.5) << "before and after are not the same";
}

TEST(Rope, BackwardUndoesForward) {
    for (const char* parameters : {"", "pairing=halves", "width=6"}) {
        const auto encoding = rope(parameters);
        const std::vector<float> x = normal(3);
        std::vector<float> y = rotate(*encoding, x, 123);
        const int position = 123;
        encoding->rotate_backward(view(y.data(), 1, e), {}, {.n_heads = 1, .positions = {{&position, 1}}}, {});
        for (std::size_t j = 0; j < e; ++j) EXPECT_NEAR(y[j], x[j], 1e-6);
    }
}

// Column k of one half with column k of the other is the pair (2k, 2k + 1) after a permutation.
TEST(Rope, HalvesIsAdjacentPermuted) {
    for (const int width : {8, 6, 2}) {
        const std::string size = "width=" + std::to_string(width);
        const auto adjacent = rope(size), halves = rope(size + ",pairing=halves");
        const std::vector<float> x = normal(4);
        std::vector<float> permuted = x;
        const auto n = static_cast<std::size_t>(width / 2);
        for (std::size_t k = 0; k < n; ++k) {
            permuted[k] = x[2 * k];
            permuted[k + n] = x[2 * k + 1];
        }
        const std::vector<float> a = rotate(*adjacent, x, 29), b = rotate(*halves, permuted, 29);
        for (std::size_t k = 0; k < n; ++k) {
            EXPECT_FLOAT_EQ(a[2 * k], b[k]);
            EXPECT_FLOAT_EQ(a[2 * k + 1], b[k + n]);
        }
        for (auto j = static_cast<std::size_t>(width); j < e; ++j) EXPECT_EQ(a[j], x[j]);
        if (width > 2) { // with two columns, both pairings give one pair
            EXPECT_GT(std::abs(rotate(*halves, x, 29)[0] - a[0]), 0.01f) << "they are not the same without it";
        }
    }
}

TEST(Rope, FullWidthIsTheDefaultAndPartOfItIsASmallerRope) {
    const std::vector<float> x = normal(5);
    EXPECT_EQ(rotate(*rope("width=8"), x, 41), rotate(*rope(), x, 41));
    for (const char* pairing : {",pairing=adjacent", ",pairing=halves"}) {
        const std::vector<float> part = rotate(*rope(std::string("width=4") + pairing), x, 41);
        std::vector<float> small(x.begin(), x.begin() + 4);
        small = rotate(*rope(std::string("width=4") + pairing, 4), small, 41, 4);
        for (std::size_t j = 0; j < e; ++j) EXPECT_EQ(part[j], j < 4 ? small[j] : x[j]);
        // The frequencies depend on the width: 1 and 1/100, not 1 and 1/10.
        const Table frequency = rope(std::string("width=4") + pairing)->table({.part = "frequency"});
        EXPECT_NEAR(frequency.rows[1][1], 0.01, 1e-16);
    }
    const Table matrix = rope("width=4")->table({.start = 9, .part = "matrix"});
    for (std::size_t j = 4; j < e; ++j) EXPECT_EQ(matrix.rows[j][j], 1);
}

TEST(Rope, HeadsTurnAlikeAndWidthsPastAChunkAreWhole) {
    const int wide = 200; // 100 pairs: more than one step computes without a table
    const auto bare = rope("", wide), ready = rope("", wide);
    ready->prepare(50);
    const std::vector<float> head = normal(6, wide);
    std::vector<float> both = head;
    both.insert(both.end(), head.begin(), head.end());
    const std::vector<float> one = rotate(*bare, head, 31, wide), two = rotate(*bare, both, 31, wide);
    for (std::size_t j = 0; j < 2 * wide; ++j) EXPECT_EQ(two[j], one[j % wide]);
    EXPECT_EQ(rotate(*ready, both, 31, wide), two);
    for (std::size_t k = 0; k < wide / 2; ++k) {
        const double angle = 31 * std::pow(10000, -2.0 * static_cast<double>(k) / wide);
        EXPECT_NEAR(one[2 * k], head[2 * k] * std::cos(angle) - head[2 * k + 1] * std::sin(angle), 1e-6);
    }
}

TEST(Rope, AMillionPositionsAwayTheAngleIsRight) {
    const auto encoding = rope();
    std::vector<float> unit(e);
    for (std::size_t k = 0; k < e / 2; ++k) unit[2 * k] = 1;
    for (const int position : {1000000, 16777217, 2000000000}) {
        const std::vector<float> x = rotate(*encoding, unit, position);
        for (std::size_t k = 0; k < e / 2; ++k) {
            const long double angle = position / std::pow(10.0L, static_cast<int>(k));
            const auto expected = static_cast<double>(std::atan2(std::sin(angle), std::cos(angle)));
            EXPECT_NEAR(std::remainder(std::atan2(x[2 * k + 1], x[2 * k]) - expected, 2 * std::acos(-1.0)), 0, 1e-5);
        }
    }
}

} // namespace rope_test
} // namespace ordo
