// SPDX-License-Identifier: MIT
// The types that the matrices of a model may have. Vectors (norms, biases) and what an encoding
// stores stay f32.
#pragma once

#include "ordo.h"

namespace ordo {

// f16: IEEE 754 binary16; bf16: the upper half of a float; q8_0 and q4_0: 32 consecutive weights of a
// row share a scale in f16, as GGUF stores them.
enum class WeightType { f32, f16, bf16, q8_0, q4_0 };

inline constexpr WeightType weight_types[] = {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0,
                                              WeightType::q4_0};
inline constexpr int quant_block = 32; // weights that share a scale

constexpr bool quantised(WeightType type) {
    return type == WeightType::q8_0 || type == WeightType::q4_0;
}
std::string_view name_of(WeightType type);
// Throws Error(usage) for a name that is none.
WeightType weight_type(std::string_view name);
// Bytes of a row of cols weights as GGUF lays it out. q8_0: per block the scale, then 32 signed bytes;
// q4_0: the scale, then 16 bytes, of which byte j holds weight j below and weight j + 16 above.
std::uint64_t row_bytes(WeightType type, std::int64_t cols);

} // namespace ordo
