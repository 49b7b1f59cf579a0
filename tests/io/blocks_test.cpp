// SPDX-License-Identifier: MIT
// Blocks are put together here from levels and scales in the way that ggml's quantisers do, which is the
// other direction; what is read must be what the formulas make of those numbers.
#include "io/blocks.h"

#include "core/random.h"
#include "io/half.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

namespace ordo {
namespace {

using Bytes = std::vector<std::byte>;

// A source of numbers below some bound.
struct Dice {
    std::uint64_t stream, at = 0;
    int operator()(int bound) {
        return static_cast<int>(Random(41, stream).four(at++)[0] % static_cast<std::uint32_t>(bound));
    }
};

struct Made {
    Bytes bytes;
    std::vector<double> values;
};

void put(Bytes& bytes, std::size_t at, int value) {
    bytes[at] |= static_cast<std::byte>(value);
}
double put_half(Bytes& bytes, std::size_t at, float value) {
    const std::uint16_t half = f16_from_float(value);
    std::memcpy(bytes.data() + at, &half, 2);
    return f16_to_float(half);
}

std::vector<int> levels(Dice& dice, std::size_t n, int bound) {
    std::vector<int> all(n);
    for (int& level : all) level = dice(bound);
    return all;
}

// As quantize_row_q5_0_ref packs them.
Made make_q5_0(Dice& dice) {
    Made made{Bytes(22), {}};
    const double d = put_half(made.bytes, 0, -0.037f);
    const std::vector<int> l = levels(dice, 32, 32);
    std::uint32_t high = 0;
    for (std::size_t j = 0; j < 16; ++j) {
        put(made.bytes, 6 + j, (l[j] & 15) | (l[j + 16] & 15) << 4);
        high |= static_cast<std::uint32_t>(l[j] >> 4) << j | static_cast<std::uint32_t>(l[j + 16] >> 4) << (j + 16);
    }
    std::memcpy(made.bytes.data() + 2, &high, 4);
    for (const int level : l) made.values.push_back(d * (level - 16));
    return made;
}

// As quantize_row_q4_K_ref packs scales and mins.
void put_scales(Bytes& bytes, const std::vector<int>& s, const std::vector<int>& m) {
    for (std::size_t j = 0; j < 8; ++j) {
        if (j < 4) {
            put(bytes, 4 + j, s[j]);
            put(bytes, 8 + j, m[j]);
        } else {
            put(bytes, 8 + j, (s[j] & 15) | (m[j] & 15) << 4);
            put(bytes, 4 + j - 4, s[j] >> 4 << 6);
            put(bytes, 4 + j, m[j] >> 4 << 6);
        }
    }
}

Made make_k(Dice& dice, bool five) {
    Made made{Bytes(five ? 176 : 144), {}};
    const double d = put_half(made.bytes, 0, 0.0021f), dmin = put_half(made.bytes, 2, 0.0173f);
    const std::vector<int> l = levels(dice, 256, five ? 32 : 16), s = levels(dice, 8, 64), m = levels(dice, 8, 64);
    put_scales(made.bytes, s, m);
    std::size_t low = five ? 48 : 16;
    int first = 1, second = 2;
    for (std::size_t n = 0; n < 256; n += 64, low += 32, first <<= 2, second <<= 2)
        for (std::size_t j = 0; j < 32; ++j) {
            put(made.bytes, low + j, (l[n + j] & 15) | (l[n + j + 32] & 15) << 4);
            if (l[n + j] > 15) put(made.bytes, 16 + j, first);
            if (l[n + j + 32] > 15) put(made.bytes, 16 + j, second);
        }
    for (std::size_t k = 0; k < 256; ++k) made.values.push_back(d * s[k / 32] * l[k] - dmin * m[k / 32]);
    return made;
}

// As quantize_row_q6_K_ref packs them.
Made make_q6_k(Dice& dice) {
    Made made{Bytes(210), {}};
    const double d = put_half(made.bytes, 208, 0.00037f);
    const std::vector<int> l = levels(dice, 256, 64), s = levels(dice, 16, 256);
    std::size_t ql = 0, qh = 128;
    for (std::size_t j = 0; j < 256; j += 128, ql += 64, qh += 32)
        for (std::size_t i = 0; i < 32; ++i) {
            const int a = l[j + i], b = l[j + i + 32], c = l[j + i + 64], e = l[j + i + 96];
            put(made.bytes, ql + i, (a & 15) | (c & 15) << 4);
            put(made.bytes, ql + i + 32, (b & 15) | (e & 15) << 4);
            put(made.bytes, qh + i, a >> 4 | b >> 4 << 2 | c >> 4 << 4 | e >> 4 << 6);
        }
    for (std::size_t i = 0; i < 16; ++i) put(made.bytes, 192 + i, s[i] & 255);
    for (std::size_t k = 0; k < 256; ++k) {
        const int scale = s[k / 16] < 128 ? s[k / 16] : s[k / 16] - 256;
        made.values.push_back(d * scale * (l[k] - 32));
    }
    return made;
}

Made make(WeightType type, Dice& dice) {
    if (type == WeightType::q5_0) return make_q5_0(dice);
    return type == WeightType::q6_K ? make_q6_k(dice) : make_k(dice, type == WeightType::q5_K);
}

class ReadOnlyBlocks : public testing::TestWithParam<WeightType> {};

TEST_P(ReadOnlyBlocks, AreReadAsTheirQuantiserPacksThem) {
    Dice dice{1};
    Bytes all;
    std::vector<double> expected;
    for (int i = 0; i < 20; ++i) {
        const Made made = make(GetParam(), dice);
        all.insert(all.end(), made.bytes.begin(), made.bytes.end());
        expected.insert(expected.end(), made.values.begin(), made.values.end());
    }
    EXPECT_EQ(row_bytes(GetParam(), static_cast<std::int64_t>(expected.size())), all.size());
    std::vector<float> found(expected.size());
    read_blocks(GetParam(), all, found);
    for (std::size_t k = 0; k < found.size(); ++k)
        ASSERT_NEAR(found[k], expected[k], 3e-7 * (1 + std::abs(expected[k]))) << "weight " << k;
}

// Where the blocks of a type have halves.
std::vector<std::size_t> halves_of(WeightType type) {
    if (type == WeightType::q6_K) return {208};
    if (type == WeightType::q5_0) return {0};
    return {0, 2};
}

TEST_P(ReadOnlyBlocks, NameTheFirstWhoseScaleIsNotFinite) {
    Dice dice{2};
    const auto stride = static_cast<std::size_t>(row_bytes(GetParam(), block_size(GetParam())));
    for (const std::size_t at : halves_of(GetParam()))
        for (const float wild : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            Bytes all;
            for (int i = 0; i < 5; ++i) {
                const Made made = make(GetParam(), dice);
                all.insert(all.end(), made.bytes.begin(), made.bytes.end());
            }
            EXPECT_EQ(wild_block(GetParam(), all), std::nullopt);
            put_half(all, 3 * stride + at, wild);
            put_half(all, 4 * stride + at, wild);
            EXPECT_EQ(wild_block(GetParam(), all), 3u) << "at byte " << at;
        }
}

INSTANTIATE_TEST_SUITE_P(Types, ReadOnlyBlocks,
                         testing::Values(WeightType::q5_0, WeightType::q4_K, WeightType::q5_K, WeightType::q6_K),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST(Halves, NameTheFirstThatIsNotFinite) {
    for (const auto& [type, wild] : {std::pair{WeightType::f16, std::uint16_t{0x7c00}}, // infinity
                                     {WeightType::f16, std::uint16_t{0xfe00}},          // NaN
                                     {WeightType::bf16, std::uint16_t{0xff80}},
                                     {WeightType::bf16, std::uint16_t{0x7fc0}}}) {
        std::vector<std::uint16_t> halves(77, type == WeightType::f16 ? 0x7bff : 0x7f7f); // the largest
        EXPECT_EQ(wild_block(type, std::as_bytes(std::span(halves))), std::nullopt);
        halves[53] = halves[70] = wild;
        EXPECT_EQ(wild_block(type, std::as_bytes(std::span(halves))), 53u) << name_of(type);
    }
}

// The sizes that ggml asserts of its structures.
TEST(WeightTypes, RowsHaveTheSizesOfTheFormat) {
    const std::pair<WeightType, std::uint64_t> sizes[] = {
        {WeightType::f32, 2048}, {WeightType::f16, 1024}, {WeightType::bf16, 1024},
        {WeightType::q8_0, 544}, {WeightType::q4_0, 288}, {WeightType::q5_0, 352},
        {WeightType::q4_K, 288}, {WeightType::q5_K, 352}, {WeightType::q6_K, 420}};
    for (const auto& [type, bytes] : sizes) EXPECT_EQ(row_bytes(type, 512), bytes) << name_of(type);
    for (const WeightType type : weight_types) {
        EXPECT_EQ(weight_type(name_of(type)), type);
        EXPECT_EQ(quantised(type), block_size(type) > 1);
    }
}

TEST(WeightTypes, ReadOnlyOnesAreRefusedByNameAsWhatFloatsAreTurnedInto) {
    for (const WeightType type : writable_types) EXPECT_EQ(writable_type(name_of(type)), type);
    for (const char* name : {"q5_0", "q4_K", "q5_K", "q6_K", "q9"}) {
        try {
            writable_type(name);
            ADD_FAILURE() << name << ": expected an error";
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage);
            EXPECT_NE(std::string(error.what()).find(std::string("found '") + name + "'"), std::string::npos);
        }
    }
}

} // namespace
} // namespace ordo
