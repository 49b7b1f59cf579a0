// SPDX-License-Identifier: MIT
// The types that the matrices of a model may have. Vectors (norms, biases) and what an encoding
// stores stay f32.
#pragma once

#include "ordo.h"

namespace ordo {

// f16: IEEE 754 binary16; bf16: the upper half of a float. The others are blocks of a row's weights with
// scales of their own, as GGUF stores them (io/blocks.h).
enum class WeightType { f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, q2_K, q3_K, q4_K, q5_K, q6_K, iq4_xs };

inline constexpr WeightType weight_types[] = {WeightType::f32,  WeightType::f16,    WeightType::bf16,  WeightType::q8_0,
                                              WeightType::q4_0, WeightType::q4_1,   WeightType::q5_0,  WeightType::q5_1,
                                              WeightType::q2_K, WeightType::q3_K,   WeightType::q4_K,  WeightType::q5_K,
                                              WeightType::q6_K, WeightType::iq4_nl, WeightType::iq4_xs};
// What floats are turned into. The others are read from files, and multiplied with, as they are.
inline constexpr WeightType writable_types[] = {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0,
                                                WeightType::q4_0};
inline constexpr int quant_block = 32; // the fewest weights of a block; activations are quantised by as many
inline constexpr int largest_quant_block = 256;

// How a file stores a type: in blocks of so many weights and bytes. From byte `scales_at` of a block on, the first of
// `scales` halves is its scale; a second one is added to its weights or subtracted from them.
struct WeightFormat {
    std::string_view name;
    int weights, bytes, scales = 0, scales_at = 0;
};
const WeightFormat& format_of(WeightType type);

constexpr bool quantised(WeightType type) {
    return type != WeightType::f32 && type != WeightType::f16 && type != WeightType::bf16;
}
constexpr bool writable(WeightType type) {
    return type <= WeightType::q4_0;
}
// Weights of a block; 1 where there are none. Rows of a type are whole blocks.
constexpr int block_size(WeightType type) {
    return !quantised(type) ? 1 : type < WeightType::q2_K ? quant_block : largest_quant_block;
}
std::string_view name_of(WeightType type);
// Throws Error(usage) for a name that is none.
WeightType weight_type(std::string_view name);
// Likewise, and for one that floats are not turned into.
WeightType writable_type(std::string_view name);
// Bytes of a row of cols weights, a multiple of block_size(), as a file lays it out.
std::uint64_t row_bytes(WeightType type, std::int64_t cols);

} // namespace ordo
