// SPDX-License-Identifier: MIT
// The loops over tiles, emulated and, if the machine has them, real. They must have the bits that follow from Intel's
// rules, those of vector kernels for quantised weights, and nearly the values in double.
#include "core/random.h"
#include "io/half.h"
#include "tests/kernels/emulated_tiles.h"
#include "tests/kernels/sets.h"
#include "tests/kernels/tile_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace ordo::test {
namespace {

struct Case {
    const Kernels* tiles;
    const Kernels* vectors; // the kernels whose float arithmetic is compiled in the same way
};

std::vector<Case> cases() {
    std::vector<Case> all{{&amx_emulated_kernels, &amx_emulated_vectors}};
    const auto named = [](std::string_view name) {
        const auto sets = available_kernels();
        const auto found = std::ranges::find_if(sets, [&](const Kernels* set) { return set->name == name; });
        return found == sets.end() ? nullptr : *found;
    };
    if (const Kernels* amx = named("amx")) all.push_back({amx, named("avx512bf16")});
    return all;
}

class TiledProducts : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Units, TiledProducts, testing::ValuesIn(cases()), [](const auto& set) {
    std::string name = set.param.tiles->name;
    std::erase(name, '-');
    return name;
});

constexpr int row_counts[] = {1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 70, 130};

// Allocates the exact size, so that a sanitizer finds a read beyond it.
template <class T>
std::unique_ptr<T[]> exactly(std::ptrdiff_t n) {
    return std::make_unique<T[]>(static_cast<std::size_t>(n));
}

TEST_P(TiledProducts, OfPairsAreTheManualsToTheBit) {
    const Kernels& set = *GetParam().tiles;
    for (const int k : {1, 2, 31, 32, 33, 64, 90, 288})
        for (const int outputs : {1, 16, 17, 32, 33, 64, 70}) {
            const int pairs = (k + 1) / 2, panels = (outputs + 31) / 32, most = 130, ldx = 2 * pairs + 2,
                      ldy = outputs + 3;
            const std::ptrdiff_t panel_words = std::ptrdiff_t{pairs} * 64;
            const Random random(21, static_cast<std::uint64_t>(k * 100 + outputs));
            const auto w = exactly<std::uint16_t>(panels * panel_words);
            const auto x = exactly<std::uint16_t>(std::ptrdiff_t{most} * ldx);
            for (int i = 0; i < panels * panel_words; ++i) {
                const int output = i / static_cast<int>(panel_words) * 32 + i % 64 / 2,
                          at = i % static_cast<int>(panel_words) / 64 * 2 + i % 2;
                if (output < outputs && at < k)
                    w[i] = bf16_from_float(static_cast<float>(random.normal(static_cast<std::uint64_t>(i))));
            }
            const Random of_x(22, static_cast<std::uint64_t>(k));
            for (int i = 0; i < most * ldx; ++i) // beyond column k, values that must not be read
                x[i] = i % ldx < k ? bf16_from_float(static_cast<float>(of_x.normal(static_cast<std::uint64_t>(i))))
                       : i % ldx == k && k % 2 != 0 ? std::uint16_t{0}
                                                    : std::uint16_t{0x7fc0};
            std::vector<float> expected(static_cast<std::size_t>(most * outputs));
            for (int r = 0; r < most; ++r)
                for (int j = 0; j < outputs; ++j) {
                    float y = 0;
                    double exact = 0, size = 0;
                    const std::uint16_t* const panel = w.get() + j / 32 * panel_words;
                    for (int l = 0; l < pairs; l += 16) {
                        const auto a = [&](int p, int i) { return x[r * ldx + 2 * (l + p) + i]; };
                        const auto b = [&](int p, int i) { return panel[(l + p) * 64 + j % 32 * 2 + i]; };
                        const int n = std::min(16, pairs - l);
                        y = pair_dot(y, n, a, b);
                        for (int p = 0; p < 2 * n; ++p) {
                            const double product =
                                static_cast<double>(widened(a(p / 2, p % 2))) * widened(b(p / 2, p % 2));
                            exact += product;
                            size += std::abs(product);
                        }
                    }
                    ASSERT_NEAR(y, exact, 1e-6 * size + 1e-30);
                    expected[r * outputs + j] = y;
                }
            for (const int rows : row_counts) {
                const auto y = exactly<float>(std::ptrdiff_t{rows} * ldy);
                std::fill_n(y.get(), rows * ldy, -7.0f);
                set.product_bf16_pairs(rows, outputs, k, reinterpret_cast<const std::byte*>(w.get()), 2 * panel_words,
                                       x.get(), ldx, y.get(), ldy, false);
                for (int r = 0; r < rows; ++r) {
                    ASSERT_EQ(std::memcmp(y.get() + r * ldy, expected.data() + r * outputs,
                                          sizeof(float) * static_cast<std::size_t>(outputs)),
                              0)
                        << "row " << r << " of " << rows << " x " << k << " x " << outputs;
                    for (int j = outputs; j < ldy; ++j) ASSERT_EQ(y[r * ldy + j], -7.0f);
                }
            }
        }
    EXPECT_TRUE(EmulatedTiles::released());
}

// Integer sums are exact in any order, and the scaling has a fixed order.
TEST_P(TiledProducts, OfBlocksHaveTheBitsOfVectors) {
    const Kernels &tiles = *GetParam().tiles, &vectors = *GetParam().vectors;
    struct Type {
        QuantProduct Kernels::*product;
        int bytes; // the bytes of a panel's block of 32
    };
    for (const Type& type : {Type{&Kernels::product_q8_0, 64 + 1024},
                             {&Kernels::product_q4_0, 64 + 512},
                             {&Kernels::product_q5_0, 64 + 128 + 512}})
        for (const int k : {32, 96, 288})
            for (const int outputs : {1, 16, 32, 33, 70}) {
                const int panels = (outputs + 31) / 32, most = 130, ldy = outputs + 3;
                const std::ptrdiff_t panel_bytes = std::ptrdiff_t{k} / 32 * type.bytes;
                const auto w = exactly<std::byte>(panels * panel_bytes);
                for (int i = 0; i < panels * panel_bytes; ++i) {
                    const std::uint32_t bits = Random(23, 1).four(static_cast<std::uint64_t>(i))[0] >> 9;
                    const int at = i % type.bytes;
                    w[i] = at >= 64 || at % 2 == 0 ? static_cast<std::byte>(bits) : std::byte(0x28);
                }
                std::vector<float> x(static_cast<std::size_t>(most * k)),
                    scales(static_cast<std::size_t>(most * k / 32));
                for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(Random(24, 1).normal(i));
                x[5] = 1e30f; // levels of 127, 0 and -127 next to each other
                x[9] = -1e30f;
                const auto values = exactly<signed char>(std::ptrdiff_t{most} * k);
                std::vector<int> sums(scales.size()), first_sums(scales.size());
                for (int r = 0; r < most; ++r)
                    vectors.quantise_row(k, x.data() + r * k, values.get() + r * k, scales.data() + r * k / 32,
                                         sums.data() + r * k / 32, first_sums.data() + r * k / 32);
                for (const int rows : row_counts) {
                    std::vector<float> found(static_cast<std::size_t>(rows * ldy), -7.0f), expected = found;
                    const QuantRows q{values.get(), scales.data(), sums.data(), first_sums.data(), k};
                    (tiles.*type.product)(rows, outputs, k, w.get(), panel_bytes, q, found.data(), ldy);
                    (vectors.*type.product)(rows, outputs, k, w.get(), panel_bytes, q, expected.data(), ldy);
                    ASSERT_EQ(std::memcmp(found.data(), expected.data(), sizeof(float) * found.size()), 0)
                        << type.bytes << " bytes: " << rows << " x " << k << " x " << outputs;
                    EXPECT_NE(found[0], -7.0f);
                }
            }
    EXPECT_TRUE(EmulatedTiles::released());
}

// Subnormals are zeros. A value that is not finite affects only its own row.
TEST_P(TiledProducts, OfWildRowsLeaveOthersAlone) {
    const Kernels& set = *GetParam().tiles;
    constexpr int rows = 20, k = 64, outputs = 32;
    std::vector<std::uint16_t> w(k * outputs, bf16_from_float(1)), x(rows * k, bf16_from_float(0.5f));
    x[3 * k + 7] = 0x7f80;                              // infinity
    x[4 * k + 7] = 0x7fc1;                              // NaN
    for (int l = 0; l < k; ++l) x[17 * k + l] = 0x007f; // the largest subnormal
    std::vector<float> y(rows * outputs);
    set.product_bf16_pairs(rows, outputs, k, reinterpret_cast<const std::byte*>(w.data()), 4096, x.data(), k, y.data(),
                           outputs, false);
    for (int r = 0; r < rows; ++r)
        for (int j = 0; j < outputs; ++j) {
            const float found = y[r * outputs + j];
            if (r == 3)
                EXPECT_TRUE(std::isinf(found));
            else if (r == 4)
                EXPECT_TRUE(std::isnan(found));
            else
                EXPECT_EQ(found, r == 17 ? 0 : 32) << r;
        }
}

} // namespace
} // namespace ordo::test
