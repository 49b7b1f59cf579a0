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

std::uint16_t scale_of(const std::byte* block) {
    std::uint16_t half;
    std::memcpy(&half, block, sizeof half);
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
    const std::size_t stride = row_bytes(type, quant_block);
    for (std::size_t b = 0; b < blocks.size() / stride; ++b)
        if (!finite(scale_of(blocks.data() + b * stride))) return b;
    return std::nullopt;
}

void read_blocks(WeightType type, std::span<const std::byte> blocks, std::span<float> out) {
    const std::size_t stride = row_bytes(type, quant_block);
    for (std::size_t b = 0; b < out.size() / quant_block; ++b) {
        const std::byte* block = blocks.data() + b * stride;
        float* x = out.data() + b * quant_block;
        const float scale = f16_to_float(scale_of(block));
        if (type == WeightType::q8_0) {
            for (int i = 0; i < quant_block; ++i)
                x[i] = scale * static_cast<float>(static_cast<signed char>(block[2 + i]));
            continue;
        }
        for (int i = 0; i < half_block; ++i) {
            const int byte = std::to_integer<int>(block[2 + i]);
            x[i] = scale * static_cast<float>((byte & 15) - 8);
            x[i + half_block] = scale * static_cast<float>((byte >> 4) - 8);
        }
    }
}

} // namespace ordo
