// SPDX-License-Identifier: MIT
// The encodings that act on the embedding: learned, segment and rotate-stretch. For sinusoidal see sinusoidal_test.cpp.
#include "encoding/base/stack.h"

#include "core/random.h"
#include "core/tensor.h"

#include <gtest/gtest.h>

#include <cmath>

namespace ordo {
namespace embedding_test {

constexpr int d = 6;

std::unique_ptr<Encoding> make(const std::string& spec, int d_model = d) {
    return std::move(make_encodings(spec, {d_model, 1, 2, 1, 10}).at(0));
}

// A table whose row r is r, r + 100, r + 200 ...
Tensor numbered_rows(int rows) {
    Tensor table(rows, d);
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < d; ++j) table.view().row(r)[j] = static_cast<float>(r + 100 * j);
    return table;
}

std::vector<float> embed(const Encoding& encoding, std::vector<float> x, int position) {
    const int cols = static_cast<int>(x.size());
    encoding.embed(view(x.data(), 1, cols), {Positions({&position, 1}), {}});
    return x;
}

TEST(Learned, AddsTheRowOfThePosition) {
    for (const int offset : {0, 2}) { // OPT's first two rows are unused
        const auto encoding = make("learned:offset=" + std::to_string(offset));
        EXPECT_EQ(encoding->max_position(), 10);
        const std::vector<TensorSpec> tensors = encoding->tensors();
        ASSERT_EQ(tensors.size(), 1u);
        EXPECT_EQ(tensors[0].shape, (std::vector<std::int64_t>{10 + offset, d}));
        EXPECT_EQ(tensors[0].initial.kind, InitialValues::Kind::normal);
        EXPECT_EQ(tensors[0].initial.b, 0.02f);
        Tensor table = numbered_rows(10 + offset);
        encoding->bind(0, std::vector<View>{table.view()});
        for (const int position : {0, 3, 9})
            for (std::size_t j = 0; j < d; ++j)
                EXPECT_EQ(embed(*encoding, std::vector<float>(d, 0.5f), position)[j],
                          0.5f + static_cast<float>(position + offset) + 100 * static_cast<float>(j));
    }
}

TEST(Learned, ShowsItsTableOnceItHasOne) {
    const auto encoding = make("learned:offset=2");
    try {
        encoding->table({.length = 2});
        ADD_FAILURE() << "there are no weights";
    } catch (const Error& error) {
        EXPECT_EQ(error.code, ErrorCode::usage);
        EXPECT_NE(std::string(error.what()).find("weights"), std::string::npos);
    }
    Tensor table = numbered_rows(12);
    encoding->bind(0, std::vector<View>{table.view()});
    const Table shown = encoding->table({.length = 2, .start = 8});
    EXPECT_EQ(shown.rows[1], (std::vector<double>{11, 111, 211, 311, 411, 511}));
    EXPECT_THROW(encoding->table({.length = 3, .start = 8}), Error); // position 10 has no row
}

TEST(Segment, AddsTheRowOfTheSegmentWhateverThePosition) {
    const auto encoding = make("segment:count=3");
    EXPECT_EQ(encoding->max_segment(), 3);
    EXPECT_EQ(encoding->max_position(), std::numeric_limits<int>::max());
    Tensor table = numbered_rows(3), x(3, d);
    encoding->bind(0, std::vector<View>{table.view()});
    const std::vector<int> positions = {0, 5, 1000000}, segments = {2, 0, 2};
    encoding->embed(x.view(), {positions, segments});
    for (int i = 0; i < 3; ++i) EXPECT_EQ(x.view().row(i)[1], 100 + static_cast<float>(segments[i]));
    EXPECT_EQ(encoding->table({}).rows.size(), 3u);
    EXPECT_THROW(make("segment")->table({}), Error);
}

std::vector<float> normal(std::size_t n) {
    std::vector<float> x;
    for (std::size_t i = 0; i < n; ++i) x.push_back(static_cast<float>(Random(9, 0).normal(i)));
    return x;
}

double length(const std::vector<float>& x) {
    double sum = 0;
    for (const float value : x) sum += static_cast<double>(value) * value;
    return std::sqrt(sum);
}

// scale = (floor(t/36) + 1) 0.1 |x|, so the result's length is scale times |x|.
TEST(RotateStretch, TurnsByTheCircleAndStretchesByTheTurn) {
    for (const int width : {6, 7}) {
        const auto encoding = make("rotate-stretch", width);
        const std::vector<float> x = normal(static_cast<std::size_t>(width));
        for (const int t : {0, 1, 9, 35, 36, 37, 71, 72, 36000}) {
            const int turns = t / 36;
            const double scale = (turns + 1) * 0.1 * length(x), angle = 2 * std::acos(-1.0) * t / 36;
            const std::vector<float> y = embed(*encoding, x, t);
            EXPECT_NEAR(length(y), scale * length(x), 1e-5 * scale);
            for (std::size_t j = 0; j < 6; j += 2) {
                EXPECT_NEAR(y[j], scale * (x[j] * std::cos(angle) - x[j + 1] * std::sin(angle)), 1e-6 * scale);
                EXPECT_NEAR(y[j + 1], scale * (x[j] * std::sin(angle) + x[j + 1] * std::cos(angle)), 1e-6 * scale);
            }
            if (width == 7) {
                EXPECT_NEAR(y[6], scale * x[6], 1e-6 * scale);
            }
        }
    }
}

// After a norm, which divides by the length, positions t and t + period look the same.
TEST(RotateStretch, ANormTakesTheStretchAway) {
    const auto encoding = make("rotate-stretch:period=6");
    const std::vector<float> x = normal(d), a = embed(*encoding, x, 4), b = embed(*encoding, x, 4 + 6 * 11);
    for (std::size_t j = 0; j < d; ++j) EXPECT_NEAR(a[j] / length(a), b[j] / length(b), 1e-7);
    EXPECT_NEAR(length(b) / length(a), 12, 1e-5);
}

TEST(RotateStretch, ZeroStaysZeroAndSoDoesItsGradient) {
    const auto encoding = make("rotate-stretch");
    EXPECT_EQ(embed(*encoding, std::vector<float>(d), 5), std::vector<float>(d));
    std::vector<float> x(d), dx = normal(d);
    const int position = 5;
    encoding->embed_backward(view(dx.data(), 1, d), view(x.data(), 1, d), {Positions({&position, 1}), {}}, {});
    EXPECT_EQ(dx, std::vector<float>(d));
}

TEST(RotateStretch, TableAndMatrix) {
    const auto encoding = make("rotate-stretch");
    const Table table = encoding->table({.length = 3, .start = 35});
    EXPECT_EQ(table.header, (std::vector<std::string>{"position", "angle", "scale"}));
    const double turn = 2 * std::acos(-1.0) / 36;
    const double expected[3][3] = {{35, 35 * turn, 0.1}, {36, 0, 0.2}, {37, turn, 0.2}};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) EXPECT_NEAR(table.rows[i][j], expected[i][j], 1e-14);

    // R_t repeats one block along its diagonal.
    const Table matrix = encoding->table({.start = 3, .part = "matrix"});
    ASSERT_EQ(matrix.rows.size(), static_cast<std::size_t>(d));
    for (std::size_t i = 0; i < d; ++i)
        for (std::size_t j = 0; j < d; ++j) {
            const double half = std::sqrt(3.0) / 2; // 3 of 36 positions are 30 degrees
            double value = 0;
            if (i == j) value = half;
            if (i / 2 == j / 2 && i != j) value = i < j ? -0.5 : 0.5;
            EXPECT_NEAR(matrix.rows[i][j], value, 1e-14);
        }
}

} // namespace embedding_test
} // namespace ordo
