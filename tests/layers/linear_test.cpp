// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "core/random.h"
#include "core/tensor.h"
#include "kernels/kernels.h"
#include "layers/linear.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

void fill(Tensor& t, std::uint64_t stream) {
    for (std::size_t i = 0; i < t.size(); ++i) t.data()[i] = static_cast<float>(Random(17, stream).normal(i));
}

struct LinearShape {
    int n, k, m;
};

struct Layer {
    explicit Layer(const LinearShape& s, int padding = 0)
        : x(s.n, s.k + padding), weight(s.m, s.k), bias(1, s.m), y(s.n, s.m) {
        fill(x, 1);
        fill(weight, 2);
        fill(bias, 3);
    }
    View in() { return cols_of(x.view(), x.cols() - weight.cols(), weight.cols()); }
    void run(bool with_bias) {
        RowScratch none;
        linear(in(), {weight.view(), with_bias ? bias.view() : View{}}, none, y.view());
    }
    Tensor x, weight, bias, y;
};

TEST(LinearLayer, AgreesWithDoublesOnEveryInstructionSet) {
    for (const Kernels* set : available_kernels()) {
        select_kernels(set->name);
        for (const LinearShape& s :
             {LinearShape{1, 1, 1}, {1, 40, 257}, {1, 300, 33}, {2, 17, 5}, {7, 128, 96}, {64, 100, 130}})
            for (const bool with_bias : {false, true}) {
                Layer layer(s, 5);
                layer.run(with_bias);
                double error = 0, magnitude = 0;
                for (int i = 0; i < s.n; ++i)
                    for (int j = 0; j < s.m; ++j) {
                        double expected = with_bias ? layer.bias.data()[j] : 0;
                        for (int l = 0; l < s.k; ++l)
                            expected += static_cast<double>(layer.in().row(i)[l]) * layer.weight.view().row(j)[l];
                        const double found = layer.y.view().row(i)[j];
                        error += (found - expected) * (found - expected);
                        magnitude += expected * expected;
                    }
                EXPECT_LE(error / magnitude, 1e-12) << set->name << ": " << s.n << " x " << s.k << " x " << s.m;
            }
    }
    select_kernels("auto");
}

// Outputs that fill no panel are not packed, but do not go to BLAS either.
TEST(LinearLayer, OfFewOutputsEachRowHasTheBitsThatItHasAlone) {
    for (const Kernels* set : available_kernels()) {
        select_kernels(set->name);
        for (const LinearShape& s : {LinearShape{100, 288, 31},
                                     {8, 288, 10},
                                     {8, 33, 7},
                                     {70, 128, 16},
                                     {31, 600, 31},
                                     {3, 20, 9},
                                     {2, 352, 1}}) {
            ASSERT_LT(s.m, panel_outputs);
            Layer layer(s);
            layer.run(false);
            Tensor alone(s.n, s.m);
            RowScratch none;
            for (int i = 0; i < s.n; ++i)
                linear(rows_of(layer.in(), i, 1), {layer.weight.view(), {}}, none, rows_of(alone.view(), i, 1));
            EXPECT_EQ(std::memcmp(layer.y.data(), alone.data(), alone.size() * sizeof(float)), 0)
                << set->name << ": " << s.n << " x " << s.k << " x " << s.m;
        }
    }
    select_kernels("auto");
}

// The shapes of real trunks. Results must not depend on other programs on the machine.
TEST(LinearLayer, SameBitsOnAnyNumberOfThreads) {
    const detail::Restless restless;
    const int before = thread_count();
    for (const LinearShape& s : {LinearShape{1, 128, 4096},
                                 {1, 1000, 700},
                                 {2, 128, 384},
                                 {3, 512, 512},
                                 {7, 64, 64},
                                 {16, 128, 704},
                                 {64, 352, 128},
                                 {256, 128, 4096},
                                 {33, 768, 2304},
                                 {100, 97, 1001}}) {
        Layer layer(s);
        set_threads(1);
        layer.run(true);
        Tensor one(s.n, s.m);
        std::copy(layer.y.data(), layer.y.data() + layer.y.size(), one.data());
        for (const int threads : {2, 3, 4, 8}) {
            set_threads(threads);
            layer.run(true);
            EXPECT_EQ(std::memcmp(layer.y.data(), one.data(), one.size() * sizeof(float)), 0)
                << s.n << " x " << s.k << " x " << s.m << " on " << threads << " threads";
        }
    }
    set_threads(before);
}

} // namespace
} // namespace ordo
