// SPDX-License-Identifier: MIT
#include "io/blocks.h"

#include "io/half.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ordo {
namespace {

constexpr int half_block = quant_block / 2;

bool finite(std::uint16_t half) {
    return (half & 0x7c00) != 0x7c00;
}

// False if the scale is not finite.
bool write_scale(float scale, std::byte* block) {
    const std::uint16_t half = f16_from_float(scale);
    std::memcpy(block, &half, sizeof half);
    return finite(half);
}

std::uint16_t half_bits(const std::byte* p) {
    std::uint16_t half;
    std::memcpy(&half, p, sizeof half);
    return half;
}

// The factor that divides by the scale. If f16 rounds the scale to 0, the block is zeros: the inverse of a subnormal
// would be infinite.
float inverse_of(float scale) {
    return (f16_from_float(scale) & 0x7fff) != 0 ? 1 / scale : 0;
}

bool write_q8_0(const float* x, std::byte* block) {
    float most = 0;
    for (int i = 0; i < quant_block; ++i) most = std::max(most, std::abs(x[i]));
    const float scale = most / 127, inverse = inverse_of(scale);
    for (int i = 0; i < quant_block; ++i) block[2 + i] = static_cast<std::byte>(std::lround(x[i] * inverse));
    return write_scale(scale, block);
}

bool write_q4_0(const float* x, std::byte* block) {
    float most = 0;
    for (int i = 0; i < quant_block; ++i)
        if (std::abs(x[i]) > std::abs(most)) most = x[i];
    const float scale = most / -8, inverse = inverse_of(scale);
    const auto level = [&](int i) { return std::min(15, static_cast<int>(x[i] * inverse + 8.5f)); };
    for (int i = 0; i < half_block; ++i) block[2 + i] = static_cast<std::byte>(level(i) | level(i + half_block) << 4);
    return write_scale(scale, block);
}

// ---- Reading ----------------------------------------------------------------------------------

int byte_at(const std::byte* p, int i) {
    return std::to_integer<int>(p[i]);
}
float half_at(const std::byte* p) {
    return f16_to_float(half_bits(p));
}

void read_q8_0(const std::byte* block, float* x) {
    const float d = half_at(block);
    for (int i = 0; i < quant_block; ++i) x[i] = d * static_cast<float>(static_cast<signed char>(block[2 + i]));
}

// The levels of q4_0 and q4_1, and the low four bits of those of q5_0 and q5_1.
int four_bits(const std::byte* low, int i) {
    return byte_at(low, i % half_block) >> (i / half_block * 4) & 15;
}
int five_bits(const std::byte* fifth, int i) {
    return four_bits(fifth + 4, i) | (byte_at(fifth, i / 8) >> (i % 8) & 1) << 4;
}

// x = d (l - offset)
template <class Level>
void read_centred(const std::byte* block, int offset, const Level& level, float* x) {
    const float d = half_at(block);
    for (int i = 0; i < quant_block; ++i) x[i] = d * static_cast<float>(level(block + 2, i) - offset);
}

// x = d l + m
template <class Level>
void read_raised(const std::byte* block, const Level& level, float* x) {
    const float d = half_at(block), m = half_at(block + 2);
    for (int i = 0; i < quant_block; ++i) x[i] = d * static_cast<float>(level(block + 4, i)) + m;
}

// The 16 levels of iq4_nl and iq4_xs (kvalues_iq4nl in ggml-common.h).
constexpr int uneven_levels[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void read_uneven(float scale, const std::byte* low, float* x) {
    for (int i = 0; i < quant_block; ++i) x[i] = scale * static_cast<float>(uneven_levels[four_bits(low, i)]);
}

void read_iq4_xs(const std::byte* block, float* x) {
    const float d = half_at(block);
    const int upper = half_bits(block + 2);
    for (int i = 0; i < 8; ++i) {
        const int s = (byte_at(block, 4 + i / 2) >> (i % 2 * 4) & 15) | (upper >> 2 * i & 3) << 4;
        read_uneven(d * static_cast<float>(s - 32), block + 8 + half_block * i, x + quant_block * i);
    }
}

// The lower bits of q2_K and q3_K.
int two_bits(const std::byte* low, int k) {
    return byte_at(low, k / 128 * 32 + k % 32) >> (k % 128 / 32 * 2) & 3;
}

void read_q2_k(const std::byte* block, float* x) {
    const float d = half_at(block + 80), dmin = half_at(block + 82);
    for (int k = 0; k < largest_quant_block; ++k) {
        const int scales = byte_at(block, k / 16);
        x[k] = d * static_cast<float>(scales & 15) * static_cast<float>(two_bits(block + 16, k)) -
               dmin * static_cast<float>(scales >> 4);
    }
}

void read_q3_k(const std::byte* block, float* x) {
    const std::byte *const low = block + 32, *const scales = block + 96;
    const float d = half_at(block + 108);
    for (int k = 0; k < largest_quant_block; ++k) {
        const int i = k / 16, level = two_bits(low, k) | (byte_at(block, k % 32) >> (k / 32) & 1) << 2;
        const int s = (byte_at(scales, i % 8) >> (i / 8 * 4) & 15) | (byte_at(scales, 8 + i % 4) >> (i / 4 * 2) & 3)
                                                                         << 4;
        x[k] = d * static_cast<float>(s - 32) * static_cast<float>(level - 4);
    }
}

// The i-th s and m of the 12 bytes of q4_K and q5_K.
struct Scales {
    int s, m;
};
Scales scales_at(const std::byte* p, int i) {
    if (i < 4) return {byte_at(p, i) & 63, byte_at(p, i + 4) & 63};
    const int low = byte_at(p, i + 4);
    return {(low & 15) | byte_at(p, i - 4) >> 6 << 4, low >> 4 | byte_at(p, i) >> 6 << 4};
}

// fifth: 32 bytes, or none for q4_K.
void read_q45_k(const std::byte* block, const std::byte* fifth, const std::byte* low, float* x) {
    const float d = half_at(block), dmin = half_at(block + 2);
    for (int i = 0; i < 8; ++i, x += quant_block) {
        const Scales scales = scales_at(block + 4, i);
        const float scale = d * static_cast<float>(scales.s), least = dmin * static_cast<float>(scales.m);
        for (int j = 0; j < quant_block; ++j) {
            int level = byte_at(low, i / 2 * quant_block + j) >> (i % 2 * 4) & 15;
            if (fifth != nullptr) level |= (byte_at(fifth, j) >> i & 1) << 4;
            x[j] = scale * static_cast<float>(level) - least;
        }
    }
}

void read_q6_k(const std::byte* block, float* x) {
    const std::byte *const low = block, *const high = block + 128, *const scales = block + 192;
    const float d = half_at(block + 208);
    for (int k = 0; k < largest_quant_block; ++k) {
        const int half = k / 128, j = k % 128;
        const int four = byte_at(low, 64 * half + j % 64) >> (j / 64 * 4) & 15;
        const int two = byte_at(high, 32 * half + j % 32) >> (j / 32 * 2) & 3;
        x[k] = d * static_cast<float>(static_cast<signed char>(scales[k / 16])) *
               static_cast<float>((four | two << 4) - 32);
    }
}

void read_block(WeightType type, const std::byte* block, float* x) {
    switch (type) {
    case WeightType::q8_0:
        return read_q8_0(block, x);
    case WeightType::q4_0:
        return read_centred(block, 8, four_bits, x);
    case WeightType::q4_1:
        return read_raised(block, four_bits, x);
    case WeightType::q5_0:
        return read_centred(block, 16, five_bits, x);
    case WeightType::q5_1:
        return read_raised(block, five_bits, x);
    case WeightType::iq4_nl:
        return read_uneven(half_at(block), block + 2, x);
    case WeightType::q2_K:
        return read_q2_k(block, x);
    case WeightType::q3_K:
        return read_q3_k(block, x);
    case WeightType::q4_K:
        return read_q45_k(block, nullptr, block + 16, x);
    case WeightType::q5_K:
        return read_q45_k(block, block + 16, block + 48, x);
    case WeightType::q6_K:
        return read_q6_k(block, x);
    case WeightType::iq4_xs:
        return read_iq4_xs(block, x);
    case WeightType::f16:
        *x = half_at(block);
        return;
    case WeightType::bf16:
        *x = bf16_to_float(half_bits(block));
        return;
    case WeightType::f32:
        break;
    }
}

bool has_wild_scale(const WeightFormat& format, const std::byte* block) {
    bool wild = false;
    for (int i = 0; i < format.scales; ++i) wild |= !finite(half_bits(block + format.scales_at + 2 * i));
    return wild;
}

// exponent: the bits of the exponent, all of which are set in a half-precision number that is not finite.
std::optional<std::size_t> wild_half(std::uint16_t exponent, std::span<const std::byte> halves) {
    const auto wild = [&](std::size_t i) { return (half_bits(halves.data() + 2 * i) & exponent) == exponent; };
    const std::size_t n = halves.size() / 2;
    std::uint16_t any = 0; // the first loop has no branch, so that it is vectorised
#pragma omp simd reduction(| : any)
    for (std::size_t i = 0; i < n; ++i) any = static_cast<std::uint16_t>(any | (wild(i) ? 1 : 0));
    for (std::size_t i = 0; any != 0 && i < n; ++i)
        if (wild(i)) return i;
    return std::nullopt;
}

} // namespace

bool write_blocks(WeightType type, std::span<const float> values, std::span<std::byte> out) {
    const std::size_t stride = row_bytes(type, quant_block);
    bool fits = true;
    for (std::size_t b = 0; b < values.size() / quant_block; ++b) {
        const float* x = values.data() + b * quant_block;
        std::byte* block = out.data() + b * stride;
        fits &= type == WeightType::q8_0 ? write_q8_0(x, block) : write_q4_0(x, block);
    }
    return fits;
}

std::optional<std::size_t> wild_block(WeightType type, std::span<const std::byte> blocks) {
    if (!quantised(type)) return wild_half(type == WeightType::f16 ? 0x7c00 : 0x7f80, blocks);
    const std::size_t stride = row_bytes(type, block_size(type));
    for (std::size_t b = 0; b < blocks.size() / stride; ++b)
        if (has_wild_scale(format_of(type), blocks.data() + b * stride)) return b;
    return std::nullopt;
}

void read_blocks(WeightType type, std::span<const std::byte> blocks, std::span<float> out) {
    const auto size = static_cast<std::size_t>(block_size(type));
    const auto stride = static_cast<std::size_t>(row_bytes(type, block_size(type)));
    for (std::size_t b = 0; b < out.size() / size; ++b)
        read_block(type, blocks.data() + b * stride, out.data() + b * size);
}

} // namespace ordo
