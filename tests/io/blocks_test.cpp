// SPDX-License-Identifier: MIT
// These tests compose blocks from levels and scales as ggml's quantisers do, which is the opposite direction. The
// values read must follow from those numbers by the formulas.
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

// A source of random numbers below a bound.
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

// As quantize_row_q4_1_ref and quantize_row_q5_1_ref pack them.
Made make_1(Dice& dice, bool five) {
    Made made{Bytes(five ? 24 : 20), {}};
    const double d = put_half(made.bytes, 0, 0.037f), m = put_half(made.bytes, 2, -0.53f);
    const std::vector<int> l = levels(dice, 32, five ? 32 : 16);
    std::uint32_t high = 0;
    for (std::size_t j = 0; j < 16; ++j) {
        put(made.bytes, (five ? 8 : 4) + j, (l[j] & 15) | (l[j + 16] & 15) << 4);
        high |= static_cast<std::uint32_t>(l[j] >> 4) << j | static_cast<std::uint32_t>(l[j + 16] >> 4) << (j + 16);
    }
    if (five) std::memcpy(made.bytes.data() + 4, &high, 4);
    for (const int level : l) made.values.push_back(d * level + m);
    return made;
}

constexpr int uneven[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// As quantize_row_iq4_nl_impl packs blocks of 32 and superblocks of 256.
Made make_iq4(Dice& dice, bool super) {
    Made made{Bytes(super ? 136 : 18), {}};
    const double d = put_half(made.bytes, 0, -0.0041f);
    std::uint32_t upper = 0;
    for (std::size_t i = 0; i < (super ? 8 : 1); ++i) {
        const std::vector<int> l = levels(dice, 32, 16);
        for (std::size_t j = 0; j < 16; ++j) put(made.bytes, (super ? 8 : 2) + 16 * i + j, l[j] | l[j + 16] << 4);
        const int s = super ? dice(64) : 33;
        if (super) {
            put(made.bytes, 4 + i / 2, i % 2 == 0 ? s & 15 : (s & 15) << 4);
            upper |= static_cast<std::uint32_t>(s >> 4) << (2 * i);
        }
        for (const int level : l) made.values.push_back(d * (s - 32) * uneven[level]);
    }
    if (super) std::memcpy(made.bytes.data() + 2, &upper, 2);
    return made;
}

// As quantize_row_q2_K_ref packs them.
Made make_q2_k(Dice& dice) {
    Made made{Bytes(84), {}};
    const double d = put_half(made.bytes, 80, 0.0021f), dmin = put_half(made.bytes, 82, 0.0173f);
    const std::vector<int> l = levels(dice, 256, 4), s = levels(dice, 16, 16), m = levels(dice, 16, 16);
    for (std::size_t j = 0; j < 16; ++j) put(made.bytes, j, s[j] | m[j] << 4);
    for (std::size_t j = 0; j < 256; j += 128)
        for (std::size_t i = 0; i < 32; ++i)
            put(made.bytes, 16 + j / 4 + i, l[j + i] | l[j + i + 32] << 2 | l[j + i + 64] << 4 | l[j + i + 96] << 6);
    for (std::size_t k = 0; k < 256; ++k) made.values.push_back(d * s[k / 16] * l[k] - dmin * m[k / 16]);
    return made;
}

// As quantize_row_q3_K_ref packs them.
Made make_q3_k(Dice& dice) {
    Made made{Bytes(110), {}};
    const double d = put_half(made.bytes, 108, 0.0021f);
    std::vector<int> l = levels(dice, 256, 8);
    const std::vector<int> s = levels(dice, 16, 64);
    for (std::size_t k = 0; k < 256; ++k) made.values.push_back(d * (s[k / 16] - 32) * (l[k] - 4));
    for (std::size_t j = 0; j < 16; ++j) {
        put(made.bytes, 96 + j % 8, j < 8 ? s[j] & 15 : (s[j] & 15) << 4);
        put(made.bytes, 96 + 8 + j % 4, s[j] >> 4 << (2 * (j / 4)));
    }
    for (std::size_t k = 0; k < 256; ++k)
        if (l[k] > 3) {
            put(made.bytes, k % 32, 1 << (k / 32));
            l[k] -= 4;
        }
    for (std::size_t j = 0; j < 256; j += 128)
        for (std::size_t i = 0; i < 32; ++i)
            put(made.bytes, 32 + j / 4 + i, l[j + i] | l[j + i + 32] << 2 | l[j + i + 64] << 4 | l[j + i + 96] << 6);
    return made;
}

Made make(WeightType type, Dice& dice) {
    switch (type) {
    case WeightType::q4_1:
    case WeightType::q5_1:
        return make_1(dice, type == WeightType::q5_1);
    case WeightType::q5_0:
        return make_q5_0(dice);
    case WeightType::iq4_nl:
    case WeightType::iq4_xs:
        return make_iq4(dice, type == WeightType::iq4_xs);
    case WeightType::q2_K:
        return make_q2_k(dice);
    case WeightType::q3_K:
        return make_q3_k(dice);
    case WeightType::q6_K:
        return make_q6_k(dice);
    default:
        return make_k(dice, type == WeightType::q5_K);
    }
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

// The offsets of the f16 values in a type's blocks.
std::vector<std::size_t> halves_of(WeightType type) {
    switch (type) {
    case WeightType::q2_K:
        return {80, 82};
    case WeightType::q3_K:
        return {108};
    case WeightType::q6_K:
        return {208};
    case WeightType::q4_1:
    case WeightType::q5_1:
    case WeightType::q4_K:
    case WeightType::q5_K:
        return {0, 2};
    default:
        return {0};
    }
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
                         testing::Values(WeightType::q4_1, WeightType::q5_0, WeightType::q5_1, WeightType::q2_K,
                                         WeightType::q3_K, WeightType::q4_K, WeightType::q5_K, WeightType::q6_K,
                                         WeightType::iq4_nl, WeightType::iq4_xs),
                         [](const auto& test) { return std::string(name_of(test.param)); });

// The output of ggml's own dequantize_row_* (libggml-base of llama.cpp, 2026) for 256 weights of the bytes (31 i i + 89
// i + 7) / 8. The b-th block has the f16 values 0.0125 b and -0.375 b. Listed are eight weights, and the sum of (k + 1)
// times the k-th weight.
struct Decoded {
    WeightType type;
    float some[8];
    double sum;
};
constexpr std::size_t some_of_them[] = {0, 1, 17, 40, 99, 130, 200, 255};
constexpr Decoded decoded[] = {
    {WeightType::q4_1,
     {-0.237533569f, -0.262527466f, -0.262527466f, -0.650024414f, -0.850158691f, -1.8125f, -1.66223145f, -2.10021973f},
     -52928.97964},
    {WeightType::q5_1,
     {-0.16255188f, -9.15527344e-05f, -0.0625762939f, -0.625030518f, -0.550231934f, 0.0625f, -0.874511719f,
      -2.20019531f},
     -34805.7818},
    {WeightType::iq4_nl,
     {-0.274932861f, -0.437393188f, -0.612350464f, -0.549865723f, -4.14898682f, 3.3125f, -3.06335449f, 3.79907227f},
     -4916.283615},
    {WeightType::q2_K, {0.0f, 0.0f, 0.562362671f, 0.75f, 4.68745422f, 1.875f, 4.22497559f, 0.562362671f}, 82527.96103},
    {WeightType::q3_K,
     {0.199951172f, -0.149963379f, 0.0374908447f, -0.674835205f, -1.34967041f, -0.649841309f, -0.262435913f,
      0.42489624f},
     -2034.840591},
    {WeightType::iq4_xs,
     {-14.2965088f, 12.2345123f, 1.7870636f, 6.12350464f, 23.8566742f, -0.474884033f, -22.2445679f, -7.59814453f},
     -12184.18712},
    {WeightType::q5_0,
     {-0.0124969482f, 0.149963379f, 0.0f, -0.0249938965f, -0.399902344f, 0.75f, -1.40039062f, 0.199951172f},
     844.3465881},
    {WeightType::q4_K,
     {7.44973755f, 13.3607941f, 12.2860565f, 14.9990845f, 7.34967041f, 12.1245117f, 31.1226196f, 8.06199646f},
     485124.5945},
    {WeightType::q5_K,
     {9.59921265f, 19.8092194f, 18.7344818f, 20.6227112f, 10.4989014f, 17.123291f, 33.7219849f, 6.37490845f},
     573310.4595},
    {WeightType::q6_K,
     {-35.1914062f, 34.0916748f, -2.06199646f, -10.1225281f, -1.31217957f, 7.17324829f, 14.9463501f, -13.1217957f},
     6284.140411},
    {WeightType::q8_0,
     {0.474884033f, 0.862289429f, 0.937271118f, 1.3996582f, -0.599853516f, -3.75f, -11.1156006f, 11.09729f},
     -1618.383484},
    {WeightType::q4_0,
     {-0.0249938965f, -0.0374908447f, -0.049987793f, -0.049987793f, -0.299926758f, 0.25f, -0.262573242f, 0.299926758f},
     -547.4842072},
};

TEST(Blocks, AreReadAsGgmlReadsThem) {
    for (const Decoded& each : decoded) {
        const auto stride = static_cast<std::size_t>(row_bytes(each.type, block_size(each.type)));
        Bytes bytes(static_cast<std::size_t>(row_bytes(each.type, 256)));
        for (std::uint32_t i = 0; i < bytes.size(); ++i)
            bytes[i] = static_cast<std::byte>((i * i * 31 + i * 89 + 7) >> 3);
        for (std::size_t b = 0; b < bytes.size() / stride; ++b) {
            const std::vector<std::size_t> halves = halves_of(each.type);
            for (std::size_t i = 0; i < halves.size(); ++i)
                put_half(bytes, b * stride + halves[i], (i == 0 ? 0.0125f : -0.375f) * static_cast<float>(b + 1));
        }
        std::vector<float> found(256);
        read_blocks(each.type, bytes, found);
        for (std::size_t i = 0; i < 8; ++i)
            EXPECT_FLOAT_EQ(found[some_of_them[i]], each.some[i]) << name_of(each.type) << " " << some_of_them[i];
        double sum = 0, size = 0;
        for (std::size_t k = 0; k < 256; ++k) {
            sum += static_cast<double>(k + 1) * found[k];
            size += static_cast<double>(k + 1) * std::abs(found[k]);
        }
        EXPECT_NEAR(sum, each.sum, 1e-6 * size) << name_of(each.type);
    }
}

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
        {WeightType::f32, 2048}, {WeightType::f16, 1024}, {WeightType::bf16, 1024}, {WeightType::q8_0, 544},
        {WeightType::q4_0, 288}, {WeightType::q5_0, 352}, {WeightType::q4_K, 288},  {WeightType::q5_K, 352},
        {WeightType::q6_K, 420}, {WeightType::q4_1, 320}, {WeightType::q5_1, 384},  {WeightType::iq4_nl, 288},
        {WeightType::q2_K, 168}, {WeightType::q3_K, 220}, {WeightType::iq4_xs, 272}};
    for (const auto& [type, bytes] : sizes) EXPECT_EQ(row_bytes(type, 512), bytes) << name_of(type);
    for (const WeightType type : weight_types) {
        EXPECT_EQ(weight_type(name_of(type)), type);
        EXPECT_EQ(quantised(type), block_size(type) > 1);
    }
}

TEST(WeightTypes, ReadOnlyOnesAreRefusedByNameAsWhatFloatsAreTurnedInto) {
    for (const WeightType type : writable_types) EXPECT_EQ(writable_type(name_of(type)), type);
    for (const char* name :
         {"q4_1", "q5_0", "q5_1", "q2_K", "q3_K", "q4_K", "q5_K", "q6_K", "iq4_nl", "iq4_xs", "q9"}) {
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
