// SPDX-License-Identifier: MIT
// Colours that colour-blind readers can tell apart.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ordo::lab {

struct Color {
    std::uint8_t red, green, blue;
};

// Purple below zero, orange above: ColorBrewer's PuOr (Harrower and Brewer 2003).
inline constexpr std::array<Color, 11> diverging_colors{{{0x2d, 0x00, 0x4b},
                                                         {0x54, 0x27, 0x88},
                                                         {0x80, 0x73, 0xac},
                                                         {0xb2, 0xab, 0xd2},
                                                         {0xd8, 0xda, 0xeb},
                                                         {0xf7, 0xf7, 0xf7},
                                                         {0xfe, 0xe0, 0xb6},
                                                         {0xfd, 0xb8, 0x63},
                                                         {0xe0, 0x82, 0x14},
                                                         {0xb3, 0x58, 0x06},
                                                         {0x7f, 0x3b, 0x08}}};
// Evenly brighter from the smallest to the largest value: matplotlib's viridis.
inline constexpr std::array<Color, 11> rising_colors{{{0x44, 0x01, 0x54},
                                                      {0x48, 0x24, 0x75},
                                                      {0x41, 0x44, 0x87},
                                                      {0x35, 0x5f, 0x8d},
                                                      {0x2a, 0x78, 0x8e},
                                                      {0x21, 0x91, 0x8c},
                                                      {0x22, 0xa8, 0x84},
                                                      {0x44, 0xbf, 0x70},
                                                      {0x7a, 0xd1, 0x51},
                                                      {0xbd, 0xdf, 0x26},
                                                      {0xfd, 0xe7, 0x25}}};
// For lines: Okabe and Ito 2008, without yellow, which is faint on white paper.
inline constexpr std::array<Color, 7> line_colors{{{0x00, 0x72, 0xb2},
                                                   {0xd5, 0x5e, 0x00},
                                                   {0x00, 0x9e, 0x73},
                                                   {0xcc, 0x79, 0xa7},
                                                   {0xe6, 0x9f, 0x00},
                                                   {0x56, 0xb4, 0xe9},
                                                   {0x55, 0x55, 0x55}}};

// Similar colours among the 256 numbered ones of terminals, whose nearest matches would look muddy.
inline constexpr std::array<std::uint8_t, 11> diverging_codes{54, 61, 98, 140, 183, 231, 223, 215, 208, 166, 130};
inline constexpr std::array<std::uint8_t, 11> rising_codes{53, 54, 60, 24, 30, 36, 72, 77, 113, 148, 220};

inline constexpr const std::array<Color, 11>& map_colors(bool diverging) {
    return diverging ? diverging_colors : rising_colors;
}

// share in [0, 1].
inline int code_at(bool diverging, double share) {
    const auto& codes = diverging ? diverging_codes : rising_codes;
    return codes[static_cast<std::size_t>(share * static_cast<double>(codes.size() - 1) + 0.5)];
}

// The same, interpolated between the neighbours.
inline Color color_at(bool diverging, double share) {
    const auto& colors = map_colors(diverging);
    const double at = share * static_cast<double>(colors.size() - 1);
    const std::size_t low = at < 1 ? 0 : at >= 9 ? 9 : static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(low);
    const auto mix = [part](std::uint8_t a, std::uint8_t b) {
        return static_cast<std::uint8_t>(a + (static_cast<double>(b) - a) * part + 0.5);
    };
    const Color a = colors[low], b = colors[low + 1];
    return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

} // namespace ordo::lab
