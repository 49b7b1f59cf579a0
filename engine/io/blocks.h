// SPDX-License-Identifier: MIT
// Rows of weights in blocks with scales of their own, in GGUF's layout (ggml's ggml-common.h). d, dmin, m: f16; l: a
// level. Weights in the low and high bits of a byte are called below and above.
//   q8_0  32 weights: d, 32 signed bytes                    x = d l
//   q4_0  32: d, 16 bytes                                   x = d (l - 8); byte j: weight j below, j + 16 above
//   q5_0  32: d, 4 bytes of fifth bits, 16 bytes            x = d (l - 16); as q4_0, bit j of the 32 is weight j's
//   q4_1, q5_1  32: d, m, then as q4_0 and q5_0             x = d l + m
//   iq4_nl  32: as q4_0                                     x = d c[l], c: 16 unevenly spaced levels
//   q2_K  256: 16 bytes of s and above it m of each 16, 64 bytes, d, dmin   x = d s l - dmin m; halves of 128 weights
//         have 32 bytes: byte j holds weights j, j + 32, j + 64, j + 96
//   q3_K  256: 32 bytes of third bits, 64 bytes as q2_K, 12 of s, d   x = d (s - 32) (l - 4), s of each 16; bit i of
//         byte j of the 32 is weight 32 i + j's
//   q4_K  256: d, dmin, 12 bytes of scales, 128 bytes       x = d s l - dmin m, s and m of each 32; byte j of 32 of
//         the 128: weight j of 64 below, j + 32 above
//   q5_K  256: d, dmin, 12 bytes of scales, 32 of fifth bits, 128 bytes     as q4_K; bit i of byte j of the 32 is
//         weight 32 i + j's
//   q6_K  256: 128 bytes, 64 bytes of fifth and sixth bits, 16 signed s, d  x = d s (l - 32), s of each 16; halves of
//         128 weights have 64 and 32 bytes: of those byte j holds weights j, j + 64, of these j, j + 32, j + 64, j + 96
//   iq4_xs  256: d, 2 bytes of upper bits of s, 4 of s, 128 bytes    x = d (s - 32) c[l], s of each 32, which have 16
//         bytes as in iq4_nl. The i-th s: the low four bits in half i % 2 of byte i / 2, the upper two in bits 2 i and
//         2 i + 1 of the two bytes
// The 12 bytes of q3_K hold 16 s of six bits: the low four of i < 8 in the low half of byte i, of i >= 8 in the upper
// half of byte i - 8; the upper two in bits 2 (i / 4) and the next of byte 8 + i % 4. Those of q4_K and q5_K hold eight
// s and eight m: of i < 4 in the low bits of bytes i and i + 4; of i >= 4 the low four in the halves of byte i + 4, the
// upper two on top of bytes i - 4 and i.
#pragma once

#include "core/weight_type.h"

#include <optional>
#include <span>

namespace ordo {

// For types that are writable(). values: a multiple of 32; out: row_bytes() of them. The scale is rounded to f16.
//   q8_0: d = max |x| / 127, q = round(x / d), ties away from zero
//   q4_0: d = m / -8 with m the value of largest magnitude, q = min(15, floor(x / d + 8.5)), x = (q - 8) d
// Returns false if a scale does not fit f16.
bool write_blocks(WeightType type, std::span<const float> values, std::span<std::byte> out);
// The first block, of block_size() weights, whose d or dmin is not finite; of f16 and bf16, the first number that is
// not finite. Empty if all are finite. Not for f32.
std::optional<std::size_t> wild_block(WeightType type, std::span<const std::byte> blocks);
// out: whole blocks, or numbers of f16 and bf16, as many as fit. Not for f32.
void read_blocks(WeightType type, std::span<const std::byte> blocks, std::span<float> out);

} // namespace ordo
