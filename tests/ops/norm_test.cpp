// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "core/tensor.h"
#include "ops/norm.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace ordo {
namespace {

struct Case {
    int rows, cols;
    double scale, offset; // of the values
};

class NormOps : public ::testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        const auto [n, d, scale, offset] = GetParam();
        x_ = Tensor(n, d + 3); // a view of some columns, with gaps between the rows
        y_ = Tensor(n, d);
        weight_ = Tensor(1, d);
        bias_ = Tensor(1, d);
        fill(x_, 1, scale, offset);
        fill(weight_, 2, 1, 1);
        fill(bias_, 3, 1, 0);
    }
    static void fill(Tensor& t, std::uint64_t stream, double scale, double offset) {
        for (std::size_t i = 0; i < t.size(); ++i)
            t.data()[i] = static_cast<float>(Random(7, stream).normal(i) * scale + offset);
    }
    View x() { return cols_of(x_.view(), 3, y_.cols()); }
    // The normalised mean squared error relative to (x - mean) / sqrt(mean((x - mean)^2) + eps) * w + b.
    double error(bool centred, float eps) {
        const int d = y_.cols();
        double difference = 0, magnitude = 0;
        for (int i = 0; i < y_.rows(); ++i) {
            const float* row = x().row(i);
            const double mean = centred ? std::accumulate(row, row + d, 0.0) / d : 0;
            double square = 0;
            for (int j = 0; j < d; ++j) square += (row[j] - mean) * (row[j] - mean) / d;
            for (int j = 0; j < d; ++j) {
                const double expected =
                    (row[j] - mean) / std::sqrt(square + static_cast<double>(eps)) * weight_.data()[j] +
                    (centred ? bias_.data()[j] : 0);
                const double found = y_.view().row(i)[j];
                difference += (found - expected) * (found - expected);
                magnitude += expected * expected;
            }
        }
        return difference / magnitude;
    }
    Tensor x_, y_, weight_, bias_;
};

TEST_P(NormOps, RmsAgreesWithDoubles) {
    rms_norm(x(), weight_.view(), 1e-5f, y_.view());
    EXPECT_LE(error(false, 1e-5f), 1e-12);
}

TEST_P(NormOps, LayerAgreesWithDoubles) {
    layer_norm(x(), weight_.view(), bias_.view(), 1e-5f, y_.view());
    // An offset of 100 deviations costs two of seven digits in any computation of the mean in floats.
    EXPECT_LE(error(true, 1e-5f), GetParam().offset > 10 ? 1e-9 : 1e-12);
}

TEST_P(NormOps, InPlaceIsTheSame) {
    for (const Norm kind : {Norm::rms, Norm::layer}) {
        Tensor copy(x().rows, x().cols);
        for (int i = 0; i < x().rows; ++i) std::copy_n(x().row(i), x().cols, copy.view().row(i));
        norm(kind, x(), weight_.view(), bias_.view(), 1e-6f, y_.view());
        norm(kind, copy.view(), weight_.view(), bias_.view(), 1e-6f, copy.view());
        EXPECT_TRUE(std::equal(copy.data(), copy.data() + copy.size(), y_.data()));
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormOps,
                         ::testing::Values(Case{1, 1, 1, 2}, Case{3, 7, 1, 0}, Case{2, 64, 1, 0}, Case{100, 129, 1, 0},
                                           Case{5, 768, 1e-3, 0}, Case{5, 768, 1e4, 0}, Case{5, 300, 1, 100}));

TEST(NormOpsValues, WorkedByHand) {
    Tensor x(1, 2), one(1, 2), zero(1, 2), y(1, 2);
    x.data()[0] = 3;
    x.data()[1] = 4;
    one.data()[0] = one.data()[1] = 1;
    rms_norm(x.view(), one.view(), 1e-12f, y.view()); // sqrt((9 + 16) / 2) = 3.5355339
    EXPECT_NEAR(y.data()[0], 0.84852814, 1e-6);
    EXPECT_NEAR(y.data()[1], 1.13137085, 1e-6);
    layer_norm(x.view(), one.view(), zero.view(), 1e-12f, y.view()); // mean 3.5, deviation 0.5
    EXPECT_NEAR(y.data()[0], -1, 1e-6);
    EXPECT_NEAR(y.data()[1], 1, 1e-6);
}

TEST(NormOpsValues, EpsilonKeepsZerosFinite) {
    Tensor x(1, 16), one(1, 16), zero(1, 16), y(1, 16);
    std::fill_n(one.data(), 16, 1.0f);
    for (const Norm kind : {Norm::rms, Norm::layer}) {
        std::fill_n(y.data(), 16, 5.0f);
        norm(kind, x.view(), one.view(), zero.view(), 1e-5f, y.view());
        for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(y.data()[i], 0);
    }
}

} // namespace
} // namespace ordo
