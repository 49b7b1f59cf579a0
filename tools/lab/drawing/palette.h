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
// Of 0xrrggbb each.
template <std::size_t n>
constexpr std::array<Color, n> colors_of(const std::uint32_t (&codes)[n]) {
    std::array<Color, n> colors{};
    const auto byte = [](std::uint32_t code) { return static_cast<std::uint8_t>(code & 255); };
    for (std::size_t i = 0; i < n; ++i) colors[i] = {byte(codes[i] >> 16), byte(codes[i] >> 8), byte(codes[i])};
    return colors;
}

// Purple below zero, orange above: ColorBrewer's PuOr (Harrower and Brewer 2003).
inline constexpr auto diverging_colors = colors_of(
    {0x2d004b, 0x542788, 0x8073ac, 0xb2abd2, 0xd8daeb, 0xf7f7f7, 0xfee0b6, 0xfdb863, 0xe08214, 0xb35806, 0x7f3b08});
// Evenly brighter from the smallest to the largest value: matplotlib's viridis.
inline constexpr auto rising_colors = colors_of(
    {0x440154, 0x482475, 0x414487, 0x355f8d, 0x2a788e, 0x21918c, 0x22a884, 0x44bf70, 0x7ad151, 0xbddf26, 0xfde725});
// For lines: Okabe and Ito 2008, without yellow, which is faint on white paper.
inline constexpr auto line_colors = colors_of({0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0xe69f00, 0x56b4e9, 0x555555});

// Similar colours among the 256 numbered ones of terminals, whose nearest matches would look muddy.
inline constexpr std::array<std::uint8_t, 11> diverging_codes{54, 61, 98, 140, 183, 231, 223, 215, 208, 166, 130};
inline constexpr std::array<std::uint8_t, 11> rising_codes{53, 54, 60, 24, 30, 36, 72, 77, 113, 148, 220};

inline constexpr const std::array<Color, 11>& map_colors(bool diverging) {
    return diverging ? diverging_colors : rising_colors;
}

// share in [0, 1].
inline int code_at(bool diverging, double share) {
    const auto& codes = diverging ? diverging_codes : rising_codes;
    return codes[share * static_cast<double>(codes.size() - 1) + 0.5];
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
