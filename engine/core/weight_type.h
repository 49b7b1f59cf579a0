// SPDX-License-Identifier: MIT
// The weight types of a model's matrices. Vectors (norms, biases) and the tensors of encodings stay f32.
#pragma once

#include "rows.h"

namespace ordo {

// f16: IEEE 754 binary16; bf16: the upper half of a float. The others are blocks of a row's weights with scales of
// their own, in GGUF's layout (io/blocks.h).
enum class WeightType { f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, iq4_nl, q2_K, q3_K, q4_K, q5_K, q6_K, iq4_xs };

inline constexpr WeightType weight_types[] = {WeightType::f32,  WeightType::f16,    WeightType::bf16,  WeightType::q8_0,
                                              WeightType::q4_0, WeightType::q4_1,   WeightType::q5_0,  WeightType::q5_1,
                                              WeightType::q2_K, WeightType::q3_K,   WeightType::q4_K,  WeightType::q5_K,
                                              WeightType::q6_K, WeightType::iq4_nl, WeightType::iq4_xs};
// Types to which floats can be converted. The other types are read from files, and multiplied with unconverted.
inline constexpr WeightType writable_types[] = {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0,
                                                WeightType::q4_0};
inline constexpr int quant_block = 32; // the smallest block of weights, and the block of activations
inline constexpr int largest_quant_block = 256;

// The layout of a type in a file: blocks of `weights` weights in `bytes` bytes. Byte `scales_at` of a block starts its
// `scales`, numbers in f16. The first is the block's scale; a second one is added to its weights or subtracted.
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
// Weights in a block; 1 for types without blocks. A row consists of whole blocks.
constexpr int block_size(WeightType type) {
    return !quantised(type) ? 1 : type < WeightType::q2_K ? quant_block : largest_quant_block;
}
std::string_view name_of(WeightType type);
// Throws Error(usage) for an unknown name.
WeightType weight_type(std::string_view name);
// The same, and throws for a type to which floats cannot be converted.
WeightType writable_type(std::string_view name);
// The bytes of a row of cols weights in a file. cols is a multiple of block_size().
std::uint64_t row_bytes(WeightType type, std::int64_t cols);

} // namespace ordo
