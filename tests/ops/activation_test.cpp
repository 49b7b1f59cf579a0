// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "core/tensor.h"
#include "kernels/kernels.h"
#include "ops/activation.h"
#include "tests/reference_rows.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr Activation all[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu,
                              Activation::relu2};

// Runs with the kernels of every instruction set of this machine.
class ActivationOps : public ::testing::TestWithParam<const Kernels*> {
protected:
    void SetUp() override { select_kernels(GetParam()->name); }
    void TearDown() override { select_kernels("auto"); }
};

TEST_P(ActivationOps, AgreeWithDoublesOverTheWholeRange) {
    std::vector<float> values = {0,   -0.0f, 1e-30f, -1e-30f, 1e-4f, 20,    -20,   88,
                                 -88, 100,   -100,   1e4f,    -1e4f, 1e18f, -1e18f};
    for (int i = -4000; i <= 4000; ++i) values.push_back(static_cast<float>(i) * 0.0025f);
    const auto n = static_cast<int>(values.size());
    Tensor y(1, n);
    for (const Activation f : all) {
        activate(f, view(values.data(), 1, n), y.view());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double expected = reference::activation(f, static_cast<double>(values[i]));
            EXPECT_NEAR(y.data()[i], expected, 1e-7 + 1e-6 * std::abs(expected))
                << "activation " << static_cast<int>(f) << " at " << values[i];
        }
    }
}

TEST_P(ActivationOps, GatedMultipliesByTheSecondHalf) {
    constexpr int n = 9;
    for (const int d : {1, 15, 16, 17, 100})
        for (const Activation f : all) {
            Tensor x(n, 2 * d), y(n, d), copy(n, 2 * d);
            for (std::size_t i = 0; i < x.size(); ++i)
                x.data()[i] = copy.data()[i] = static_cast<float>(Random(1, 0).normal(i) * 3);
            activate_gated(f, x.view(), y.view());
            activate_gated(f, copy.view(), cols_of(copy.view(), 0, d)); // in place
            for (int i = 0; i < n; ++i)
                for (int j = 0; j < d; ++j) {
                    const double gate = x.view().row(i)[j], up = x.view().row(i)[d + j];
                    const double expected = reference::activation(f, gate) * up;
                    EXPECT_NEAR(y.view().row(i)[j], expected, 1e-6 + 1e-6 * std::abs(expected));
                    EXPECT_EQ(copy.view().row(i)[j], y.view().row(i)[j]);
                }
        }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, ActivationOps,
                         ::testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         [](const auto& set) { return std::string(set.param->name); });

TEST(ActivationOpsValues, OfThePapers) {
    float x[] = {-1, 0, 1, 2}, y[4];
    const auto value = [&](Activation f, std::size_t i) {
        activate(f, view(x, 1, 4), view(y, 1, 4));
        return y[i];
    };
    EXPECT_NEAR(value(Activation::gelu, 2), 0.841345, 1e-6);      // Phi(1) = 0.8413447
    EXPECT_NEAR(value(Activation::gelu, 0), -0.158655, 1e-6);     // -Phi(-1)
    EXPECT_NEAR(value(Activation::gelu_tanh, 2), 0.841192, 1e-6); // differs from erf's in the fourth digit
    EXPECT_NEAR(value(Activation::silu, 2), 0.731059, 1e-6);      // 1 / (1 + 1/e)
    EXPECT_EQ(value(Activation::relu, 0), 0);
    EXPECT_EQ(value(Activation::relu, 3), 2);
    EXPECT_EQ(value(Activation::relu2, 0), 0);
    EXPECT_EQ(value(Activation::relu2, 3), 4);
}

TEST(ActivationOpsValues, NotANumberStaysOne) {
    float x[16], y[16];
    std::fill(x, x + 16, std::nanf(""));
    for (const Activation f : all) {
        std::fill(y, y + 16, 0.0f);
        activate(f, view(x, 1, 16), view(y, 1, 16));
        for (const float v : y) EXPECT_TRUE(std::isnan(v)) << static_cast<int>(f);
    }
}

} // namespace
} // namespace ordo
