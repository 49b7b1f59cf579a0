// SPDX-License-Identifier: MIT
// The shapes of tiles, in the format of LDTILECFG (Intel's Software Developer's Manual, volume 2). Palette 1 has eight
// tiles of up to 16 rows of 64 bytes.
#pragma once

#include <cstdint>

namespace ordo {

struct alignas(64) TileConfig {
    std::uint8_t palette, start_row, reserved[14];
    std::uint16_t row_bytes[16]; // of eight tiles; the others stay 0
    std::uint8_t rows[16];
};
static_assert(sizeof(TileConfig) == 64);

inline constexpr int palette_tiles = 8, palette_rows = 16, palette_row_bytes = 64;

} // namespace ordo
