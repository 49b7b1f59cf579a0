// SPDX-License-Identifier: MIT
// The two half-precision formats: IEEE 754 binary16 (f16: 5 bits of exponent, 10 of fraction) and bfloat16 (bf16: 8 and
// 7, the upper half of a float). Conversion to float is exact. Conversion from float rounds to nearest, ties to even,
// with overflow to infinity. A NaN keeps its sign and the upper bits of its payload, so that half -> float -> half is
// the identity on all 65,536 values.
#pragma once

#include <bit>
#include <cstdint>

namespace ordo {

inline float f16_to_float(std::uint16_t half) {
    const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
    const std::uint32_t exponent = (half >> 10) & 0x1fu;
    const std::uint32_t fraction = half & 0x3ffu;
    // Normal numbers: the bias goes from 15 to 127. Infinity and NaN: the exponent becomes all ones.
    const std::uint32_t rebias = exponent == 31 ? 255 - 31 : 127 - 15;
    const std::uint32_t normal = (exponent + rebias) << 23 | fraction << 13;
    // Zero and subnormals are fraction * 2^-24, which a float holds exactly.
    const auto subnormal = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
    return std::bit_cast<float>(sign | (exponent == 0 ? subnormal : normal));
}

inline std::uint16_t f16_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (bits >> 16) & 0x8000u;
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) { // a NaN whose payload bits are all dropped stays a NaN
        const std::uint32_t payload = (magnitude >> 13) & 0x3ffu;
        return static_cast<std::uint16_t>(sign | 0x7c00u | (payload != 0 ? payload : 0x200u));
    }
    if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u); // >= 65520 rounds to infinity
    if (magnitude < 0x38800000u) {
        // Below 2^-14: adding 0.5 leaves the value in units of 2^-24, rounded by the hardware.
        const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
        return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    return static_cast<std::uint16_t>(sign | ((magnitude - (std::uint32_t{127 - 15} << 23) + 0xfffu + odd) >> 13));
}

inline float bf16_to_float(std::uint16_t half) {
    return std::bit_cast<float>(std::uint32_t{half} << 16);
}

inline std::uint16_t bf16_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value); // without branches, so that loops become vectors
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u, lost = (bits & 0x007f0000u) == 0;
    const std::uint32_t odd = (bits >> 16) & 1u, quiet = bits >> 16 | (lost ? 0x40u : 0u);
    return static_cast<std::uint16_t>(nan ? quiet : (bits + 0x7fffu + odd) >> 16);
}

} // namespace ordo
