// SPDX-License-Identifier: MIT
// Compares every inner loop of every instruction set of this machine with the same in double, at lengths around each
// vector width. (exp_row, softmax and activations: tests/ops; packed products: tests/layers.)
#include "kernels/kernels.h"

#include "core/random.h"
#include "io/half.h"
#include "tests/kernels/sets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

namespace ordo {
namespace {

using Floats = std::vector<float>;

Floats random_floats(int n, std::uint64_t stream) {
    Floats values(static_cast<std::size_t>(n));
    const Random random(5, stream);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(random.normal(i));
    return values;
}

std::vector<int> lengths() {
    std::vector<int> all(70);
    std::iota(all.begin(), all.end(), 1);
    all.insert(all.end(), {127, 128, 129, 352, 1001});
    return all;
}

class KernelSet : public testing::TestWithParam<const Kernels*> {
protected:
    const Kernels& k = *GetParam();
};

TEST_P(KernelSet, DotsOfAnyLength) {
    for (const int n : lengths())
        for (const int rows : {1, 2, 3, 5, 8, 9}) {
            const int m = 3, ldw = n + 1, ldx = n + 2;
            const Floats w = random_floats(m * ldw, 1), x = random_floats(rows * ldx, 2);
            Floats y(static_cast<std::size_t>(rows * m));
            k.dots(rows, m, n, w.data(), ldw, x.data(), ldx, y.data(), m);
            for (int r = 0; r < rows; ++r)
                for (int i = 0; i < m; ++i) {
                    double expected = 0;
                    for (int l = 0; l < n; ++l) expected += double{w.data()[i * ldw + l]} * x.data()[r * ldx + l];
                    ASSERT_NEAR(y.data()[r * m + i], expected, 2e-6 * n) << n << " long, row " << r << " of " << rows;
                }
        }
}

// A hostile scale can make activations infinite or NaN. Their quantised row gets a scale of NaN and levels that no
// integer product can overflow on.
TEST_P(KernelSet, RowsThatAreNotFiniteAreQuantisedToNoNumbers) {
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float wild : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
        Floats x = random_floats(96, 8);
        x[40] = wild;
        std::vector<signed char> values(96, 1);
        Floats scales(3);
        std::vector<int> sums(3, 1), first_sums(3, 1);
        k.quantise_row(96, x.data(), values.data(), scales.data(), sums.data(), first_sums.data());
        for (const std::size_t block : {0u, 2u}) {
            EXPECT_TRUE(std::isfinite(scales[block]));
            EXPECT_EQ(sums[block], std::accumulate(values.begin() + 32 * static_cast<std::ptrdiff_t>(block),
                                                   values.begin() + 32 * static_cast<std::ptrdiff_t>(block + 1), 0));
        }
        EXPECT_FALSE(std::isfinite(scales[1]));
        EXPECT_EQ(sums[1], 0);
        EXPECT_EQ(first_sums[1], 0);
        EXPECT_TRUE(std::all_of(values.begin() + 32, values.begin() + 64, [](signed char v) { return v == 0; }));

        std::vector<std::byte> panel(3 * (64 + 1024)); // scales of f16 0, weights of -128
        Floats y(32);
        k.product_q8_0(1, 32, 96, panel.data(), static_cast<std::ptrdiff_t>(panel.size()),
                       {values.data(), scales.data(), sums.data(), first_sums.data(), 96}, y.data(), 32);
        EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return !std::isfinite(v); }));
    }
}

TEST_P(KernelSet, DotMaximumAndTheLoopsOverOneRow) {
    for (const int n : lengths()) {
        const Floats x = random_floats(n, 3), before = random_floats(n, 4);
        double dot = 0;
        float most = x[0];
        for (std::size_t i = 0; i < x.size(); ++i) {
            dot += double{x[i]} * before[i];
            most = std::max(most, x[i]);
        }
        EXPECT_NEAR(k.dot(n, x.data(), before.data()), dot, 2e-6 * n) << n;
        Floats powers = x;
        const auto [largest, total] = k.exp_row(n, powers.data());
        double exact = 0;
        for (const float v : x) exact += std::exp(double{v} - most);
        EXPECT_EQ(largest, most) << n;
        EXPECT_NEAR(total, exact, 1e-6 * exact) << n;
        Floats scaled = before, sum = before, axpy = before, far = before, gates = x, raised = before;
        std::vector<int> positions(x.size());
        for (std::size_t i = 0; i < x.size(); ++i) positions[i] = static_cast<int>(i * 7 % 1000);
        k.scale(n, 1.5f, scaled.data());
        k.add(n, x.data(), sum.data());
        k.add_value(n, 2.25f, raised.data());
        k.axpy(n, -0.75f, x.data(), axpy.data());
        k.subtract_distance(n, 0.25f, 500, positions.data(), far.data());
        k.scale(n, 8, gates.data());
        k.sigmoid(n, gates.data(), gates.data());
        Floats soft(x), angles(x), cosines(x.size()), sines(x.size());
        k.scale(n, 8, soft.data());
        k.scale(n, 9, angles.data());
        k.softplus(n, soft.data(), soft.data());
        k.cos_sin(n, angles.data(), cosines.data(), sines.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            EXPECT_EQ(scaled[i], before[i] * 1.5f);
            EXPECT_EQ(sum[i], before[i] + x[i]);
            EXPECT_EQ(raised[i], before[i] + 2.25f);
            EXPECT_NEAR(axpy[i], before[i] - 0.75 * x[i], 1e-6);
            EXPECT_NEAR(gates[i], 1 / (1 + std::exp(-8.0 * x[i])), 3e-7);
            const double exact = std::log1p(std::exp(8.0 * x[i])), angle = angles[i];
            EXPECT_NEAR(soft[i], exact, 3e-7 * exact);
            EXPECT_NEAR(cosines[i], std::cos(angle), 2e-7);
            EXPECT_NEAR(sines[i], std::sin(angle), 2e-7);
            EXPECT_NEAR(far[i], before[i] - 0.25 * std::abs(500 - positions[i]), 2e-5);
        }
    }
}

TEST_P(KernelSet, ConvolvesColumns) {
    for (const int n : lengths())
        for (const int taps : {1, 2, 4, 9}) {
            const Floats w = random_floats((n + 3) * taps, 6), x = random_floats(n * (taps + 2), 7);
            Floats y = x; // in place, as the gradient of canon is computed
            k.convolve(3, n, taps, w.data(), n + 3, y.data(), n, y.data(), n);
            const auto width = static_cast<std::size_t>(n), count = static_cast<std::size_t>(taps);
            for (std::size_t j = 0; j < 3 * width; ++j) {
                double sum = x[j];
                for (std::size_t m = 0; m < count; ++m)
                    sum += double{w[m * (width + 3) + j % width]} * x[m * width + j];
                EXPECT_NEAR(y[j], sum, 2e-6 * taps) << n << ' ' << taps;
            }
        }
}

TEST_P(KernelSet, SumsInOneOrder) {
    constexpr int all = partial_sums;
    for (const int n : {0, 1, 15, 16, 31, 32, 49, all - 1, all, 5 * all - 1, 5 * all, 5 * all + 33}) {
        const Floats x = random_floats(n, 5);
        float sums[all] = {};
        for (int i = 0; i < n; ++i) sums[i % all] += x[i];
        for (int half = all / 2; half > 0; half /= 2)
            for (int i = 0; i < half; ++i) sums[i] += sums[i + half];
        EXPECT_EQ(GetParam()->sum(n, x.data()), sums[0]) << n;
    }
}

TEST_P(KernelSet, TellsWhetherPositionsFollowEachOther) {
    for (const int n : lengths())
        for (const int first : {0, 5, 2147483647 - n}) {
            std::vector<int> positions(static_cast<std::size_t>(n));
            for (int i = 0; i < n; ++i) positions[i] = first + i;
            EXPECT_TRUE(GetParam()->consecutive(n, positions.data())) << n;
            for (const int i : {1, n / 2, n - 1}) { // the reference for the others
                if (i < 1 || i >= n) continue;
                positions[i] -= 1;
                EXPECT_FALSE(GetParam()->consecutive(n, positions.data())) << n << ": " << i;
                positions[i] += 1;
            }
        }
}

// Su et al. 2021, equation 34: (a cos - b sin, a sin + b cos). The direction -1 rotates back.
TEST_P(KernelSet, RotatesNeighboursAndHalves) {
    for (const int n : lengths())
        for (const float direction : {1.0f, -1.0f}) {
            Floats cos(static_cast<std::size_t>(n)), sin = cos;
            for (std::size_t i = 0; i < cos.size(); ++i) {
                cos[i] = std::cos(0.1f * static_cast<float>(i));
                sin[i] = std::sin(0.1f * static_cast<float>(i));
            }
            const Floats before = random_floats(2 * n, 6);
            Floats adjacent = before, halves = before;
            k.rotate_adjacent(n, cos.data(), sin.data(), direction, adjacent.data());
            k.rotate_halves(n, cos.data(), sin.data(), direction, halves.data(), halves.data() + n);
            for (std::size_t i = 0; i < cos.size(); ++i) {
                const double c = cos[i], s = double{direction} * sin[i];
                const auto expect_turned = [&](std::size_t at, std::size_t other, const Floats& found) {
                    const double a = before[at], b = before[other];
                    EXPECT_NEAR(found[at], a * c - b * s, 1e-6) << n << " pairs, pair " << i;
                    EXPECT_NEAR(found[other], a * s + b * c, 1e-6) << n << " pairs, pair " << i;
                };
                expect_turned(2 * i, 2 * i + 1, adjacent);
                expect_turned(i, i + cos.size(), halves);
            }
        }
}

// c = alpha * a * b + beta * c, with a plain and transposed.
TEST_P(KernelSet, ProductsOfAnyShape) {
    for (const auto& [m, n, depth] : {std::tuple{1, 1, 1},
                                      {1, 64, 33},
                                      {1, 48, 16},
                                      {1, 37, 5},
                                      {2, 100, 7},
                                      {6, 64, 64},
                                      {7, 33, 20},
                                      {13, 130, 48},
                                      {24, 17, 96}})
        for (const bool transposed : {false, true})
            for (const float beta : {0.0f, 0.5f}) {
                const Floats a = random_floats(m * depth, 7), b = random_floats(depth * (n + 3), 8);
                const Floats before = random_floats(m * (n + 1), 9);
                Floats c = before;
                k.product(m, n, depth, 1.25f, a.data(), transposed ? 1 : depth, transposed ? m : 1, b.data(), n + 3,
                          beta, c.data(), n + 1);
                for (int i = 0; i < m; ++i)
                    for (int j = 0; j < n; ++j) {
                        double expected = 0;
                        for (int l = 0; l < depth; ++l)
                            expected +=
                                double{a.data()[transposed ? l * m + i : i * depth + l]} * b.data()[l * (n + 3) + j];
                        expected = 1.25 * expected + double{beta} * before.data()[i * (n + 1) + j];
                        ASSERT_NEAR(c.data()[i * (n + 1) + j], expected, 1e-6 * (depth + 2))
                            << m << " x " << n << " x " << depth;
                    }
            }
}

// c = a * b, with b in slabs of 64 rows, whose blocks of 32 columns have their own scales. A power of two in f16 is
// 0x3c00 + 0x400 times its exponent. Past a's last column the scales are NaN, as a later token may leave them.
TEST_P(KernelSet, ProductsWithSlabsOfAnyShape) {
    for (const auto& [n, depth] : {std::pair{32, 64}, {5, 1}, {32, 63}, {64, 65}, {48, 130}, {96, 7}, {80, 1030}}) {
        constexpr int most = 13, block_bytes = 64 * 34;
        const int blocks = (n + 31) / 32, slabs = (depth + 63) / 64, lda = depth, ldc = n + 1;
        std::vector<std::byte> b(static_cast<std::size_t>(blocks * slabs * block_bytes));
        std::vector<double> exact(static_cast<std::size_t>(slabs * 64 * n));
        std::vector<int> exponents(static_cast<std::size_t>(slabs * 64 * blocks)); // exponents of the scales
        const Random random(9, 3);
        for (int row = 0; row < 64 * slabs; ++row)
            for (int block = 0; block < blocks; ++block) {
                std::byte* const start = b.data() + (row / 64 * blocks + block) * block_bytes;
                const int exponent = (row * 5 + block * 3) % 9 - 4;
                exponents[row * blocks + block] = exponent;
                const auto scale = static_cast<std::uint16_t>(row < depth ? 0x3c00 + 0x400 * exponent : 0x7e00);
                std::memcpy(start + 2 * (row % 64), &scale, sizeof scale);
                for (int j = 0; j < 32; ++j) {
                    const auto at = static_cast<std::uint64_t>((row * blocks + block) * 32 + j);
                    const int value = static_cast<int>(random.four(at)[0] % 255) - 127;
                    start[128 + 32 * (row % 64) + j] = static_cast<std::byte>(value);
                    if (32 * block + j < n) exact[row * n + 32 * block + j] = value;
                }
            }
        const Floats a = random_floats(most * lda, 10);
        for (const int m : {1, 2, 4, 7, most}) {
            Floats c(static_cast<std::size_t>(m * ldc), -7.0f);
            k.product_slabs(m, n, depth, a.data(), lda, b.data(), c.data(), ldc);
            for (int i = 0; i < m; ++i) {
                EXPECT_EQ(c.data()[i * ldc + n], -7.0f);
                Floats alone(static_cast<std::size_t>(n));
                k.product_slabs(1, n, depth, a.data() + i * lda, lda, b.data(), alone.data(), n);
                EXPECT_TRUE(std::equal(alone.begin(), alone.end(), c.begin() + i * ldc)) << m << " x " << n;
                for (int j = 0; j < n; ++j) {
                    double expected = 0, size = 0;
                    for (int l = 0; l < depth; ++l) {
                        float scaled = std::ldexp(a.data()[i * lda + l], exponents.data()[l * blocks + j / 32]);
                        if (k.product_bf16_pairs) scaled = bf16_to_float(bf16_from_float(scaled));
                        const double term = scaled * exact.data()[l * n + j];
                        expected += term;
                        size += std::abs(term);
                    }
                    ASSERT_NEAR(c.data()[i * ldc + j], expected, 1e-6 * size) << m << " x " << n << " x " << depth;
                }
            }
        }
    }
}

// The same with pairs of bf16. Rows past a's last column are NaN. 8 bits of a number are exact in bf16.
class PairSlabs : public KernelSet {}; // with AMX's set on emulated tiles
TEST_P(PairSlabs, ProductsOfAnyShape) {
    for (const auto& [n, depth] : {std::pair{32, 64}, {5, 1}, {32, 63}, {64, 65}, {48, 130}, {96, 7}, {80, 1030}}) {
        constexpr int most = 37;
        const int blocks = (n + 31) / 32, slabs = (depth + 63) / 64, lda = depth, ldc = n + 1;
        std::vector<std::uint16_t> b(static_cast<std::size_t>(blocks * slabs * 64 * 32));
        std::vector<double> exact(static_cast<std::size_t>(slabs * 64 * 32 * blocks));
        const Random random(9, 4);
        for (int row = 0; row < 64 * slabs; ++row)
            for (int j = 0; j < 32 * blocks; ++j) {
                const auto at = static_cast<std::uint64_t>(row * 32 * blocks + j);
                const auto value = static_cast<float>(static_cast<int>(random.four(at)[0] % 511) - 255);
                const int start = (row / 64 * blocks + j / 32) * 64 * 32;
                b[start + (row % 64 / 2 * 32 + j % 32) * 2 + row % 2] = row < depth ? bf16_from_float(value) : 0x7fc0;
                exact[at] = value;
            }
        const Floats a = random_floats(most * lda, 10);
        for (const int m : {1, 2, 4, 7, 16, 24, most}) {
            Floats c(static_cast<std::size_t>(m * ldc), -7.0f);
            k.product_pair_slabs(m, n, depth, a.data(), lda, reinterpret_cast<const std::byte*>(b.data()), c.data(),
                                 ldc);
            for (int i = 0; i < m; ++i) {
                EXPECT_EQ(c.data()[i * ldc + n], -7.0f);
                Floats alone(static_cast<std::size_t>(n));
                k.product_pair_slabs(1, n, depth, a.data() + i * lda, lda, reinterpret_cast<const std::byte*>(b.data()),
                                     alone.data(), n);
                EXPECT_TRUE(std::equal(alone.begin(), alone.end(), c.begin() + i * ldc)) << m << " x " << n;
                for (int j = 0; j < n; ++j) {
                    double expected = 0, size = 0;
                    for (int l = 0; l < depth; ++l) {
                        float weight = a.data()[i * lda + l];
                        if (k.product_bf16_pairs) weight = bf16_to_float(bf16_from_float(weight));
                        const double term = weight * exact[static_cast<std::size_t>(l * 32 * blocks + j)];
                        expected += term;
                        size += std::abs(term);
                    }
                    ASSERT_NEAR(c.data()[i * ldc + j], expected, 1e-6 * size) << m << " x " << n << " x " << depth;
                }
            }
        }
    }
}

// x * y of every product that a step counts: what a rate divides by time.
TEST(KernelSets, PeaksDoTheProductsThatTheyCount) {
    for (const Kernels* set : test::tested_kernels())
        for (const Peak& peak : {set->peak_floats, set->peak_pairs, set->peak_bytes}) {
            EXPECT_GT(peak.products, 0) << set->name;
            EXPECT_EQ(peak.run(0, 3, 5), 0) << set->name;
            EXPECT_EQ(peak.run(7, -3, 5), -3.0 * 5 * 7 * peak.products) << set->name;
        }
}

// The emulated set rounds the numbers one by one.
TEST_P(KernelSet, PacksPairsAsOneByOne) {
    if (k.pack_pair_rows == nullptr) GTEST_SKIP() << "no products of pairs";
    constexpr int ldx = 150, most = 131;
    Floats x(static_cast<std::size_t>(ldx * most));
    const Random random(31, 2);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random.normal(i));
    x[1] = NAN, x[ldx] = INFINITY, x[ldx + 1] = 1e-40f, x[2] = -0.0f;
    for (const int n : {1, 16, 31, 33, 128})
        for (const int depth : {1, 2, 31, 64, 129})
            for (const bool transposed : {false, true}) {
                const auto packed = [&](PackPairs pack, std::ptrdiff_t stride) {
                    std::vector<std::uint32_t> out(static_cast<std::size_t>(5 * 32 * 96), 0x7fc07fc0u);
                    pack(n, depth, x.data(), ldx, transposed, out.data(), stride);
                    return out;
                };
                const Kernels& plain = test::amx_emulated_kernels;
                EXPECT_EQ(packed(k.pack_pair_rows, 90), packed(plain.pack_pair_rows, 90)) << n << ", " << depth;
                EXPECT_EQ(packed(k.pack_pair_panels, 32 * 90), packed(plain.pack_pair_panels, 32 * 90)) << n;
            }
}

TEST(KernelSets, InheritTheLoopsThatTheirInstructionsLeaveAlone) {
    const auto named = [](std::string_view name) {
        const auto sets = available_kernels();
        const auto found = std::ranges::find_if(sets, [&](const Kernels* set) { return set->name == name; });
        return found == sets.end() ? nullptr : *found;
    };
    const auto loops = [](const Kernels& k) {
        return std::tuple(k.product, k.product_halves, k.dots, k.product_f32, k.product_f16, k.product_bf16,
                          k.quantise_row, k.exp_row, k.scale, k.sum, k.dot, k.rotate_adjacent, k.silu, k.adamw);
    };
    const auto bytes = [](const Kernels& k) { return std::tuple(k.product_q4_K, k.product_q2_K, k.peak_bytes.run); };
    const auto pairs = [](const Kernels& k) { return std::pair(k.product_slabs, k.product_bf16_pairs); };
    struct Inheritance {
        const char *set, *below;
        bool new_bytes, new_pairs;
    };
    for (const auto& [name, below_name, new_bytes, new_pairs] : {Inheritance{"avxvnni", "avx2", true, false},
                                                                 {"avx512vnni", "avx512", true, false},
                                                                 {"avx512bf16", "avx512vnni", false, true},
                                                                 {"amx", "avx512bf16", false, true},
                                                                 {"dotprod", "neon", true, false}}) {
        const Kernels *const set = named(name), *const below = named(below_name);
        if (set == nullptr) continue;
        ASSERT_NE(below, nullptr) << name;
        EXPECT_EQ(loops(*set), loops(*below)) << name;
        EXPECT_EQ(bytes(*set) != bytes(*below), new_bytes) << name;
        EXPECT_EQ(pairs(*set) != pairs(*below), new_pairs) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, KernelSet,
                         testing::ValuesIn(available_kernels().begin(), available_kernels().end()),
                         [](const auto& set) { return std::string(set.param->name); });
INSTANTIATE_TEST_SUITE_P(InstructionSets, PairSlabs, testing::ValuesIn(test::tested_kernels()), [](const auto& set) {
    std::string name = set.param->name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

} // namespace
} // namespace ordo
