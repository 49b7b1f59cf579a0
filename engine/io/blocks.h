// SPDX-License-Identifier: MIT
// Rows of weights in blocks of 32 with one scale, laid out as GGUF does (core/weight_type.h).
#pragma once

#include "core/weight_type.h"

#include <optional>
#include <span>

namespace ordo {

// values: a multiple of 32; out: row_bytes() of them. The scale is rounded to f16.
//   q8_0: d = max |x| / 127, q = round(x / d), away from zero in the middle
//   q4_0: d = m / -8 with m the value of largest magnitude, q = min(15, floor(x / d + 8.5)), x = (q - 8) d
// False if a scale does not fit f16.
bool write_blocks(WeightType type, std::span<const float> values, std::span<std::byte> out);
// The first block whose scale is not finite; none if all are.
std::optional<std::size_t> wild_block(WeightType type, std::span<const std::byte> blocks);
void read_blocks(WeightType type, std::span<const std::byte> blocks, std::span<float> out);

} // namespace ordo
