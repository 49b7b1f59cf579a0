// SPDX-License-Identifier: MIT
// Compares products of bf16 pairs with sums in double of values rounded bit by bit.
#include "ops/pair_products.h"

#include "core/parallel.h"
#include "core/random.h"
#include "tests/kernels/sets.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <tuple>
#include <vector>

namespace ordo {
namespace {

// Rounds to the nearest value of eight bits, ties to even.
double rounded(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    return std::bit_cast<float>((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}

// A matrix inside a larger one, and the stored form of its transpose.
struct Operand {
    Tensor memory;
    View view;

    Operand(int rows, int cols, std::uint64_t seed) : memory(rows + 1, cols + 3) {
        const Random random(seed, 7);
        for (std::size_t i = 0; i < memory.size(); ++i) memory.data()[i] = static_cast<float>(random.normal(i));
        view = cols_of(rows_of(memory.view(), 1, rows), 2, cols);
    }
    double at(Transpose t, int i, int j) const { return rounded(t == Transpose::no ? view.row(i)[j] : view.row(j)[i]); }
};

struct Sizes {
    int m, n, k;
};

std::vector<const Kernels*> sets_with_pairs() {
    std::vector<const Kernels*> sets = test::tested_kernels();
    std::erase_if(sets, [](const Kernels* set) { return set->product_bf16_pairs == nullptr; });
    return sets;
}

class PairProductsOf : public testing::TestWithParam<std::tuple<const Kernels*, Sizes, bool, bool, bool>> {};

TEST_P(PairProductsOf, AreSumsOfRoundedNumbers) {
    const auto& [set, sizes, a_transposed, b_transposed, add] = GetParam();
    const test::Selected selected(*set);
    const Transpose ta = a_transposed ? Transpose::yes : Transpose::no,
                    tb = b_transposed ? Transpose::yes : Transpose::no;
    const Operand a(a_transposed ? sizes.k : sizes.m, a_transposed ? sizes.m : sizes.k, 1),
        b(b_transposed ? sizes.n : sizes.k, b_transposed ? sizes.k : sizes.n, 2);
    Operand before(sizes.m, sizes.n, 3);
    PairProducts product;
    product(a.view, ta, b.view, tb, Operand(sizes.m, sizes.n, 4).view); // leaves old values behind
    std::vector<float> first;
    for (const int threads : {1, 3}) {
        Operand c(sizes.m, sizes.n, 3);
        const int had = omp_get_max_threads();
        omp_set_num_threads(threads);
        product(a.view, ta, b.view, tb, c.view, add ? 1.0f : 0.0f);
        omp_set_num_threads(had);
        for (int i = 0; i < sizes.m; ++i)
            for (int j = 0; j < sizes.n; ++j) {
                double sum = add ? before.view.row(i)[j] : 0;
                for (int l = 0; l < sizes.k; ++l) sum += a.at(ta, i, l) * b.at(tb, l, j);
                ASSERT_NEAR(c.view.row(i)[j], sum, 1e-5 * std::sqrt(sizes.k) * 4) << i << ", " << j;
            }
        // Including the values around it.
        const std::vector<float> now(c.memory.data(), c.memory.data() + c.memory.size());
        if (first.empty()) first = now;
        EXPECT_EQ(now, first);
        for (int j = 0; j < sizes.n + 3; ++j) EXPECT_EQ(c.memory.data()[j], before.memory.data()[j]) << "the row above";
    }
}

// Fractions of tiles, panels, pairs and depths, and several of each.
INSTANTIATE_TEST_SUITE_P(Sizes, PairProductsOf,
                         testing::Combine(testing::ValuesIn(sets_with_pairs()),
                                          testing::Values(Sizes{1, 1, 1}, Sizes{5, 33, 7}, Sizes{70, 100, 257},
                                                          Sizes{64, 64, 256}, Sizes{97, 128, 300}, Sizes{1, 128, 600},
                                                          Sizes{129, 65, 600}, Sizes{200, 300, 20},
                                                          Sizes{600, 130, 60}),
                                          testing::Bool(), testing::Bool(), testing::Bool()));

} // namespace
} // namespace ordo
