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

// What divides by the scale. Blocks whose scale f16 rounds to 0 are zeros: of subnormals it would be infinite.
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

void read_q4_0(const std::byte* block, float* x) {
    const float d = half_at(block);
    for (int i = 0; i < half_block; ++i) {
        const int byte = byte_at(block, 2 + i);
        x[i] = d * static_cast<float>((byte & 15) - 8);
        x[i + half_block] = d * static_cast<float>((byte >> 4) - 8);
    }
}

void read_q5_0(const std::byte* block, float* x) {
    const float d = half_at(block);
    for (int i = 0; i < quant_block; ++i) {
        const int byte = byte_at(block, 6 + i % half_block), low = i < half_block ? byte & 15 : byte >> 4;
        const int fifth = byte_at(block, 2 + i / 8) >> (i % 8) & 1;
        x[i] = d * static_cast<float>((low | fifth << 4) - 16);
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
        return read_q4_0(block, x);
    case WeightType::q5_0:
        return read_q5_0(block, x);
    case WeightType::q4_K:
        return read_q45_k(block, nullptr, block + 16, x);
    case WeightType::q5_K:
        return read_q45_k(block, block + 16, block + 48, x);
    case WeightType::q6_K:
        return read_q6_k(block, x);
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

bool has_wild_scale(WeightType type, const std::byte* block) {
    if (type == WeightType::q6_K) return !finite(half_bits(block + 208));
    const bool two = type == WeightType::q4_K || type == WeightType::q5_K;
    return !finite(half_bits(block)) || (two && !finite(half_bits(block + 2)));
}

// exponent: its bits, which are all set where a half is not finite.
std::optional<std::size_t> wild_half(std::uint16_t exponent, std::span<const std::byte> halves) {
    const auto wild = [&](std::size_t i) { return (half_bits(halves.data() + 2 * i) & exponent) == exponent; };
    const std::size_t n = halves.size() / 2;
    unsigned any = 0; // first without a branch, many at once
    for (std::size_t i = 0; i < n; ++i) any |= unsigned{wild(i)};
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
        if (has_wild_scale(type, blocks.data() + b * stride)) return b;
    return std::nullopt;
}

void read_blocks(WeightType type, std::span<const std::byte> blocks, std::span<float> out) {
    const auto size = static_cast<std::size_t>(block_size(type)), stride = row_bytes(type, block_size(type));
    for (std::size_t b = 0; b < out.size() / size; ++b)
        read_block(type, blocks.data() + b * stride, out.data() + b * size);
}

} // namespace ordo
