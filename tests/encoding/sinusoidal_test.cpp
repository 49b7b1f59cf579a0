// SPDX-License-Identifier: MIT
// Compares sinusoidal positions with published numbers and with their own theorems.

#include "core/tensor.h"
#include "encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ordo {
namespace sinusoidal_test {

using Numbers = std::vector<std::vector<double>>;

Dims width(int d_model) {
    return {d_model, 1, 2, 1, 64};
}

Numbers table(const std::string& spec, int d_model, int length, const std::string& part = "", int start = 0) {
    TableRequest request;
    request.length = length;
    request.start = start;
    request.part = part;
    return make_encodings(spec, width(d_model)).at(0)->table(request).rows;
}

void expect_near(const Numbers& found, const Numbers& expected, double tolerance) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_EQ(found[i].size(), expected[i].size());
        for (std::size_t j = 0; j < found[i].size(); ++j)
            EXPECT_NEAR(found[i][j], expected[i][j], tolerance) << i << ", " << j;
    }
}

// ---- 10 x 6, step by step, as a notebook with PyTorch 2 prints it to 4 decimals ----------------------

const Numbers sines = {{0.0000, 0.0000, 0.0000},  {0.8415, 0.0464, 0.0022},  {0.9093, 0.0927, 0.0043},
                       {0.1411, 0.1388, 0.0065},  {-0.7568, 0.1846, 0.0086}, {-0.9589, 0.2300, 0.0108},
                       {-0.2794, 0.2749, 0.0129}, {0.6570, 0.3192, 0.0151},  {0.9894, 0.3629, 0.0172},
                       {0.4121, 0.4057, 0.0194}};
const Numbers cosines = {{1.0000, 1.0000, 1.0000},  {0.5403, 0.9989, 1.0000},  {-0.4161, 0.9957, 1.0000},
                         {-0.9900, 0.9903, 1.0000}, {-0.6536, 0.9828, 1.0000}, {0.2837, 0.9732, 0.9999},
                         {0.9602, 0.9615, 0.9999},  {0.7539, 0.9477, 0.9999},  {-0.1455, 0.9318, 0.9999},
                         {-0.9111, 0.9140, 0.9998}};
const Numbers quotients = {{0.0000e+00, 0.0000e+00, 0.0000e+00}, {1.0000e+00, 4.6416e-02, 2.1544e-03},
                           {2.0000e+00, 9.2832e-02, 4.3089e-03}, {3.0000e+00, 1.3925e-01, 6.4633e-03},
                           {4.0000e+00, 1.8566e-01, 8.6177e-03}, {5.0000e+00, 2.3208e-01, 1.0772e-02},
                           {6.0000e+00, 2.7850e-01, 1.2927e-02}, {7.0000e+00, 3.2491e-01, 1.5081e-02},
                           {8.0000e+00, 3.7133e-01, 1.7235e-02}, {9.0000e+00, 4.1774e-01, 1.9390e-02}};
constexpr double four_decimals = 0.5001e-4;

TEST(Sinusoidal, TenBySixDenominators) {
    expect_near(table("sinusoidal", 6, 10, "denominator"), {{0, 1.0000}, {1, 21.5443}, {2, 464.1590}}, 1.5e-4);
}

TEST(Sinusoidal, TenBySixPositions) {
    expect_near(table("sinusoidal", 6, 10, "position"), {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}}, 0);
}

TEST(Sinusoidal, TenBySixAngles) {
    const Numbers found = table("sinusoidal", 6, 10, "angle");
    ASSERT_EQ(found.size(), quotients.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        for (std::size_t k = 0; k < 3; ++k) // printed with 5 digits
            EXPECT_NEAR(found[i][k], quotients[i][k],
                        0.51e-4 * std::pow(10, std::floor(std::log10(found[i][k] + 1e-9))))
                << i << ", " << k;
}

TEST(Sinusoidal, TenBySixSinesAndCosines) {
    expect_near(table("sinusoidal", 6, 10, "sin"), sines, four_decimals);
    expect_near(table("sinusoidal", 6, 10, "cos"), cosines, four_decimals);
}

// Stacked [10, 3, 2] and then flattened to [10, 6].
TEST(Sinusoidal, TenBySixStackedAndFlattened) {
    Numbers stacked, flat(10);
    for (std::size_t i = 0; i < 10; ++i)
        for (std::size_t k = 0; k < 3; ++k) {
            stacked.push_back({sines[i][k], cosines[i][k]});
            flat[i].insert(flat[i].end(), {sines[i][k], cosines[i][k]});
        }
    expect_near(table("sinusoidal", 6, 10, "stack"), stacked, four_decimals);
    expect_near(table("sinusoidal", 6, 10), flat, four_decimals);
}

// ---- Other published sizes ----------------------------------------------------------------------------

TEST(Sinusoidal, ThreeByFour) {
    expect_near(table("sinusoidal", 4, 3),
                {{0, 1, 0, 1}, {0.8415, 0.5403, 0.0100, 1.0000}, {0.9093, -0.4161, 0.0200, 0.9998}}, four_decimals);
}

TEST(Sinusoidal, HundredBy512AndItsDivisionTerms) {
    const Numbers terms = table("sinusoidal", 512, 100, "div_term");
    ASSERT_EQ(terms.size(), 256u);
    EXPECT_EQ(terms.front()[1], 1);
    EXPECT_NEAR(terms.back()[1], 1.0366e-4, 0.5e-8);
    const Numbers denominators = table("sinusoidal", 512, 100, "denominator");
    for (std::size_t k = 0; k < terms.size(); ++k) {
        EXPECT_NEAR(terms[k][1] * denominators[k][1], 1, 1e-14); // exp(-2k ln(base)/d) and base^(2k/d)
        if (k > 0) {
            EXPECT_LT(terms[k][1], terms[k - 1][1]);
        }
    }
    const Numbers matrix = table("sinusoidal", 512, 100);
    ASSERT_EQ(matrix.size(), 100u);
    ASSERT_EQ(matrix[0].size(), 512u);
    for (const auto& row : matrix) { // after 100 positions the slowest pair has hardly rotated
        EXPECT_LT(row[510], 0.0103);
        EXPECT_GT(row[511], 0.99994);
    }
}

// Distances between rows depend on the offset alone. The nearest row is 63 away (ten periods of the second pair are
// 62.8), the next is 6 away (one period of the first).
TEST(Sinusoidal, HundredTwentyEightByEight) {
    const Numbers rows = table("sinusoidal", 8, 128);
    const auto distance = [&](std::size_t a, std::size_t b) {
        double sum = 0;
        for (std::size_t j = 0; j < 8; ++j) sum += (rows[a][j] - rows[b][j]) * (rows[a][j] - rows[b][j]);
        return std::sqrt(sum);
    };
    ASSERT_EQ(rows.size(), 128u);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double square = 0;
        for (const double value : rows[i]) {
            EXPECT_LE(std::abs(value), 1);
            square += value * value;
        }
        EXPECT_NEAR(square, 4, 1e-14); // d/2: sin^2 + cos^2 of each pair
        const std::size_t far = i < 64 ? i + 63 : i - 63;
        EXPECT_NEAR(distance(i, far), 0.6453, 1e-4);
        for (std::size_t j = 0; j < rows.size(); ++j)
            if (j != i && j != far && j != (i < 64 ? i - 63 : i + 63)) {
                EXPECT_GT(distance(i, j), 0.6454);
            }
    }
    EXPECT_NEAR(distance(20, 21), 0.9641, 1e-4);
    EXPECT_NEAR(distance(20, 26), 0.6577, 1e-4);
    EXPECT_LT(distance(5, 68), distance(5, 6)); // nearer than the neighbour, though 63 apart
}

// ---- Theorems -------------------------------------------------------------------------------------------

TEST(Sinusoidal, APositionDoesNotDependOnTheLength) {
    const Numbers longer = table("sinusoidal", 10, 40), shorter = table("sinusoidal", 10, 7);
    const Numbers later = table("sinusoidal", 10, 7, "", 33);
    for (std::size_t i = 0; i < 7; ++i) {
        EXPECT_EQ(shorter[i], longer[i]);
        EXPECT_EQ(later[i], longer[i + 33]);
    }
}

// PE(p + k) = M_k PE(p), where M_k rotates each pair by k w: Vaswani et al., section 3.5.
TEST(Sinusoidal, AShiftIsALinearMap) {
    constexpr int d = 16, k = 17;
    const Numbers rows = table("sinusoidal", d, 60);
    for (std::size_t p = 0; p + k < rows.size(); ++p)
        for (std::size_t pair = 0; pair < d / 2; ++pair) {
            const double turn = k * std::pow(10000, -2.0 * static_cast<double>(pair) / d);
            const double sin = rows[p][2 * pair], cos = rows[p][2 * pair + 1];
            EXPECT_NEAR(rows[p + k][2 * pair], sin * std::cos(turn) + cos * std::sin(turn), 1e-12);
            EXPECT_NEAR(rows[p + k][2 * pair + 1], cos * std::cos(turn) - sin * std::sin(turn), 1e-12);
        }
}

TEST(Sinusoidal, OffsetMovesThePositions) {
    EXPECT_EQ(table("sinusoidal:offset=5", 10, 4), table("sinusoidal", 10, 4, "", 5));
    EXPECT_EQ(table("sinusoidal:offset=5", 10, 2, "position"), (Numbers{{5}, {6}}));
}

// ---- Layouts, formulas, odd widths ------------------------------------------------------------------------

TEST(Sinusoidal, HalvesIsAPermutationOfInterleaved) {
    for (const int d : {6, 7, 1, 2}) {
        const Numbers mixed = table("sinusoidal", d, 9), halves = table("sinusoidal:layout=halves", d, 9);
        const std::size_t n_sines = (static_cast<std::size_t>(d) + 1) / 2; // the odd column is a sine
        for (std::size_t i = 0; i < mixed.size(); ++i) {
            ASSERT_EQ(halves[i].size(), static_cast<std::size_t>(d));
            for (std::size_t j = 0; j < static_cast<std::size_t>(d); ++j)
                EXPECT_EQ(mixed[i][j], halves[i][j % 2 == 0 ? j / 2 : n_sines + j / 2]);
        }
    }
}

TEST(Sinusoidal, OddWidthsEndInASine) {
    const Numbers rows = table("sinusoidal", 5, 3);
    for (std::size_t p = 0; p < rows.size(); ++p) {
        ASSERT_EQ(rows[p].size(), 5u);
        for (const int pair : {0, 1, 2}) {
            const double angle = static_cast<double>(p) / std::pow(10000, 2.0 * pair / 5);
            EXPECT_NEAR(rows[p][2 * static_cast<std::size_t>(pair)], std::sin(angle), 1e-14);
            if (pair < 2) {
                EXPECT_NEAR(rows[p][2 * static_cast<std::size_t>(pair) + 1], std::cos(angle), 1e-14);
            }
        }
    }
    EXPECT_EQ(table("sinusoidal", 5, 3, "sin")[0].size(), 3u);
    EXPECT_EQ(table("sinusoidal", 5, 3, "cos")[0].size(), 2u);
    EXPECT_THROW(table("sinusoidal", 5, 3, "stack"), Error);
}

// tensor2tensor's timescales run from 1 to the base inclusive. The paper's stop just before the base.
TEST(Sinusoidal, Tensor2TensorReachesTheBase) {
    const Numbers t2t = table("sinusoidal:law=tensor2tensor", 8, 1, "denominator");
    const double third = std::cbrt(10000.0);
    expect_near(t2t, {{0, 1}, {1, third}, {2, third * third}, {3, 10000}}, 1e-9);
    EXPECT_NEAR(table("sinusoidal", 8, 1, "denominator")[3][1], 1000, 1e-9);
    // With a single pair there is nothing to divide by.
    for (const int d : {2, 3}) expect_near(table("sinusoidal:law=tensor2tensor", d, 1, "denominator"), {{0, 1}}, 0);
}

// tensor2tensor, common_attention.py: channels // 2 timescales, then channels % 2 columns of zeros.
TEST(Sinusoidal, Tensor2TensorEndsOddWidthsInAZero) {
    const std::string spec = "sinusoidal:law=tensor2tensor,layout=halves";
    for (const std::string& of : {spec, std::string("sinusoidal:law=tensor2tensor")})
        expect_near(table(of, 7, 1, "denominator"), {{0, 1}, {1, 100}, {2, 10000}}, 1e-9);
    const Numbers halves = table(spec, 7, 12), mixed = table("sinusoidal:law=tensor2tensor", 7, 12);
    for (std::size_t p = 0; p < halves.size(); ++p) {
        const double fast = static_cast<double>(p), mid = fast / 100, slow = fast / 10000;
        expect_near({halves[p]},
                    {{std::sin(fast), std::sin(mid), std::sin(slow), std::cos(fast), std::cos(mid), std::cos(slow), 0}},
                    1e-14);
        expect_near({mixed[p]},
                    {{std::sin(fast), std::cos(fast), std::sin(mid), std::cos(mid), std::sin(slow), std::cos(slow), 0}},
                    1e-14);
    }
    EXPECT_EQ(table(spec, 1, 3), (Numbers{{0}, {0}, {0}})); // no timescale at all
    EXPECT_EQ(table(spec, 1, 3, "denominator"), Numbers{});
    EXPECT_THROW(table(spec, 1, 3, "angle"), Error);
    EXPECT_EQ(table("sinusoidal", 7, 1, "denominator").size(), 4u); // the paper's formula keeps the odd sine
}

// ---- embed() --------------------------------------------------------------------------------------------

TEST(Sinusoidal, ScalesTheEmbeddingBySqrtOfItsWidth) {
    const auto encoding = std::move(make_encodings("sinusoidal", width(16)).at(0));
    Tensor x(1, 16);
    for (std::size_t j = 0; j < 16; ++j) x.data()[j] = static_cast<float>(j);
    const int position = 0; // sines are 0, cosines 1
    encoding->embed(x.view(), {Positions({&position, 1}), {}});
    for (std::size_t j = 0; j < 16; ++j)
        EXPECT_EQ(x.data()[j], 4.0f * static_cast<float>(j) + static_cast<float>(j % 2));
}

// A float holds the angle only to 0.06, its step at 10^6.
TEST(Sinusoidal, AMillionPositionsAwayTheAngleIsRight) {
    constexpr int position = 1000000, pairs = 100; // more than one step computes
    const auto encoding = std::move(make_encodings("sinusoidal", width(2 * pairs)).at(0));
    Tensor x(1, 2 * pairs);
    const int at = position;
    encoding->embed(x.view(), {Positions({&at, 1}), {}});
    for (int k = 0; k < pairs; ++k) {
        const long double angle = position / std::pow(10000.0L, static_cast<long double>(k) / pairs);
        const auto expected = static_cast<double>(std::atan2(std::sin(angle), std::cos(angle)));
        const double found = std::atan2(x.data()[2 * k], x.data()[2 * k + 1]);
        EXPECT_NEAR(std::remainder(found - expected, 2 * std::acos(-1.0)), 0, 1e-6) << k;
    }
}

} // namespace sinusoidal_test
} // namespace ordo
