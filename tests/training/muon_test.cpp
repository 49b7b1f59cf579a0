// SPDX-License-Identifier: MIT
// Compares Muon with numpy in double precision, and checks which matrices it updates.
#include "training/muon.h"

#include "tests/kernels/sets.h"
#include "tests/model/small_models.h"
#include "training/optimizer.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ordo {
namespace {

// The matrices of muon_reference.py in this folder, which printed the expected values below.
void fill(View v, int seed) {
    for (int n = 0; n < v.rows * v.cols; ++n) v.data[n] = static_cast<float>((n * 37 + seed * 11) % 101) / 50.0f - 1.0f;
}

void expect_values(View found, const std::vector<float>& expected, float tolerance) {
    ASSERT_EQ(static_cast<std::size_t>(found.rows) * static_cast<std::size_t>(found.cols), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.data[i], expected[i], tolerance) << i;
}

double dot_of_rows(View a, int i, View b, int j) {
    double sum = 0;
    for (int l = 0; l < a.cols; ++l) sum += static_cast<double>(a.row(i)[l]) * b.row(j)[l];
    return sum;
}

// x = U S V^T of a = U D V^T, with S near 1: x x^T has eigenvalues near 1, and x a^T = U S D U^T is symmetric. The
// steps move singular values between 0.7 and 1.2 and do not settle, so that single numbers may differ more.
void expect_nearly_orthogonal(View x, View a) {
    double odd = 0, all = 0, trace = 0, square = 0;
    for (int i = 0; i < x.rows; ++i)
        for (int j = 0; j < x.rows; ++j) {
            odd += std::pow(dot_of_rows(x, i, a, j) - dot_of_rows(x, j, a, i), 2);
            all += std::pow(dot_of_rows(x, i, a, j), 2);
            trace += i == j ? dot_of_rows(x, i, x, i) : 0;
            square += std::pow(dot_of_rows(x, i, x, j), 2);
        }
    EXPECT_LT(odd, 1e-3 * all);
    const double mean = trace / x.rows; // of the squared singular values, and their variance
    EXPECT_GT(mean, 0.65 * 0.65);
    EXPECT_LT(mean, 1.25 * 1.25);
    EXPECT_LT(square / x.rows - mean * mean, 0.3 * 0.3);
}

void expect_orthogonal(int rows, int cols, int seed, Orthogonaliser floats, const std::vector<float>& expected) {
    Tensor exact(rows, cols), x(rows, cols), a(rows, cols), x_t(cols, rows), a_t(cols, rows);
    fill(a.view(), seed);
    fill(exact.view(), seed);
    floats(exact.view());
    expect_values(exact.view(), expected, 1e-4f);
    for (const Kernels* set : test::tested_kernels()) {
        const test::Selected selected(*set);
        if (!PairProducts::available()) continue;
        Orthogonaliser pairs(9, 7);
        pairs.multiply_pairs();
        fill(x.view(), seed);
        pairs(x.view());
        EXPECT_FALSE(std::equal(x.data(), x.data() + x.size(), exact.data())) << set->name;
        for (int i = 0; i < rows; ++i)
            for (int j = 0; j < cols; ++j) {
                x_t.view().row(j)[i] = x.view().row(i)[j];
                a_t.view().row(j)[i] = a.view().row(i)[j];
            }
        rows <= cols ? expect_nearly_orthogonal(x.view(), a.view()) : expect_nearly_orthogonal(x_t.view(), a_t.view());
    }
}

TEST(Muon, AWideMatrixBecomesNearlyOrthogonal) {
    expect_orthogonal(2, 5, 1, Orthogonaliser{2, 5},
                      {-0.696309f, -0.028376f, 0.604802f, -0.490424f, 0.142753f, 0.688201f, -0.284219f, 0.257868f,
                       -0.679796f, -0.137709f});
}

// Larger matrices need scratch memory.
TEST(Muon, ATallMatrixBecomesNearlyOrthogonal) {
    expect_orthogonal(4, 3, 2, Orthogonaliser{9, 7},
                      {-0.673168f, 0.378607f, 0.687671f, -0.516896f, 0.081938f, -0.583591f, -0.170089f, 0.420093f,
                       -0.353193f, 0.176718f, 0.758248f, -0.122795f});
}

TEST(Muon, NoGradientIsNoStep) {
    Tensor x(3, 4);
    Orthogonaliser{3, 4}(x.view());
    expect_values(x.view(), std::vector<float>(12), 0);
}

Blueprint of_the_script() { // whose feed_forward.in is [8, 6]
    Blueprint b;
    b.vocab_size = 11;
    b.context = 4;
    b.n_layers = 1;
    b.d_model = 6;
    b.n_heads = b.n_kv_heads = 1;
    b.d_head = 6;
    b.d_ff = 8;
    b.gated = false;
    return b;
}

TEST(Muon, ThreeStepsWithMomentumAndDecay) {
    const Blueprint b = of_the_script();
    ModelEncodings encodings("none", b.dims());
    Parameters parameters(b, encodings);
    Optimizer optimizer(parameters, hidden_matrices(b));
    const View w = parameters.value("layers.0.feed_forward.in.weight");
    fill(w, 9);
    for (int step = 0; step < 3; ++step) {
        fill(parameters.grad("layers.0.feed_forward.in.weight"), 3 + step);
        optimizer.step({.lr = 1, .weight_decay = 0.1, .clip = 1e9, .muon_lr = 0.01});
    }
    expect_values(w, {0.979266f, -0.302544f, 0.445430f,  -0.837074f, -0.103486f, 0.639801f,  -0.634607f, 0.103988f,
                      0.843554f, -0.442177f, 0.300531f,  -0.976940f, -0.244411f, 0.503425f,  -0.777819f, -0.043423f,
                      0.698161f, -0.582278f, 0.160611f,  0.899426f,  -0.378362f, 0.364383f,  -0.916724f, -0.188614f,
                      0.564752f, -0.717028f, 0.018574f,  0.758946f,  -0.523924f, 0.218538f,  0.960764f,  -0.321286f,
                      0.425938f, -0.856123f, -0.121397f, 0.621254f,  -0.658820f, 0.072922f,  0.818760f,  -0.464831f,
                      0.277488f, -0.999955f, -0.262913f, 0.484683f,  -0.797311f, -0.062472f, 0.680250f,  -0.600826f},
                  2e-5f);
}

// AdamW updates the other tensors. Its first step is lr times the sign of the gradient.
TEST(Muon, TheRestIsAdamWs) {
    const Blueprint b = of_the_script();
    ModelEncodings encodings("learned", b.dims());
    Parameters parameters(b, encodings);
    Optimizer optimizer(parameters, hidden_matrices(b));
    std::fill(parameters.grads().begin(), parameters.grads().end(), 0.5f);
    optimizer.step({.lr = 0.25, .weight_decay = 0, .clip = 1e9, .muon_lr = 0.01});
    for (int i = 0; i < parameters.count(); ++i) {
        const std::string& name = parameters.specs()[i].name;
        const bool muons = name.starts_with("layers.") && parameters.specs()[i].shape.size() == 2;
        const float moved = std::abs(parameters.value(i).data[0]);
        EXPECT_EQ(std::abs(moved - 0.25f) < 1e-4f, !muons) << name << " moved by " << moved;
    }
}

TEST(Muon, QueriesKeysValuesGateAndUpAreMatricesOfTheirOwn) {
    Blueprint b = small_blueprint();
    b.n_kv_heads = 2;
    b.n_layers = 2;
    b.pattern = {b, b};
    b.pattern[1].experts = 2, b.pattern[1].experts_used = 1, b.pattern[1].gated = false;
    b.pattern[1].cross_attention = true;
    const std::vector<TensorSpec> specs = tensor_list(b);
    std::string found, before;
    for (const MatrixRows& m : hidden_matrices(b)) {
        if (const std::string& name = specs[m.tensor].name; name != before) found += "\n" + (before = name);
        found += " " + std::to_string(m.first) + "+" + std::to_string(m.rows);
    }
    EXPECT_EQ(found, R"(
layers.0.attention.qkv.weight 0+40 40+20 60+20
layers.0.attention.out.weight 0+40
layers.0.feed_forward.in.weight 0+52 52+52
layers.0.feed_forward.out.weight 0+40
layers.1.attention.qkv.weight 0+40 40+20 60+20
layers.1.attention.out.weight 0+40
layers.1.cross_attention.q.weight 0+40
layers.1.cross_attention.kv.weight 0+20 20+20
layers.1.cross_attention.out.weight 0+40
layers.1.feed_forward.experts.0.in.weight 0+52
layers.1.feed_forward.experts.0.out.weight 0+40
layers.1.feed_forward.experts.1.in.weight 0+52
layers.1.feed_forward.experts.1.out.weight 0+40)");
}

} // namespace
} // namespace ordo
