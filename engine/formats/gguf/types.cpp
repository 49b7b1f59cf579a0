// SPDX-License-Identifier: MIT
// The types of ggml's tensors: enum ggml_type, and the sizes of its blocks.
#include "core/error.h"
#include "formats/gguf/file.h"

#include <algorithm>

namespace ordo {
namespace {

// Without the withdrawn 4, 5, 31 to 33 and 36 to 38. The sizes of types after 39 are unknown.
constexpr GgmlType known[] = {
    {0, "F32", 1, 4, WeightType::f32},
    {1, "F16", 1, 2, WeightType::f16},
    {2, "Q4_0", 32, 18, WeightType::q4_0},
    {3, "Q4_1", 32, 20, WeightType::q4_1},
    {6, "Q5_0", 32, 22, WeightType::q5_0},
    {7, "Q5_1", 32, 24, WeightType::q5_1},
    {8, "Q8_0", 32, 34, WeightType::q8_0},
    {9, "Q8_1", 32, 36, {}},
    {10, "Q2_K", 256, 84, WeightType::q2_K},
    {11, "Q3_K", 256, 110, WeightType::q3_K},
    {12, "Q4_K", 256, 144, WeightType::q4_K},
    {13, "Q5_K", 256, 176, WeightType::q5_K},
    {14, "Q6_K", 256, 210, WeightType::q6_K},
    {15, "Q8_K", 256, 292, {}},
    {16, "IQ2_XXS", 256, 66, {}},
    {17, "IQ2_XS", 256, 74, {}},
    {18, "IQ3_XXS", 256, 98, {}},
    {19, "IQ1_S", 256, 50, {}},
    {20, "IQ4_NL", 32, 18, WeightType::iq4_nl},
    {21, "IQ3_S", 256, 110, {}},
    {22, "IQ2_S", 256, 82, {}},
    {23, "IQ4_XS", 256, 136, WeightType::iq4_xs},
    {24, "I8", 1, 1, {}},
    {25, "I16", 1, 2, {}},
    {26, "I32", 1, 4, {}},
    {27, "I64", 1, 8, {}},
    {28, "F64", 1, 8, {}},
    {29, "IQ1_M", 256, 56, {}},
    {30, "BF16", 1, 2, WeightType::bf16},
    {34, "TQ1_0", 256, 54, {}},
    {35, "TQ2_0", 256, 66, {}},
    {39, "MXFP4", 32, 17, {}},
};

struct KindOf {
    std::string_view name;
    std::size_t bytes;
};
constexpr KindOf kinds[] = {{"u8", 1},   {"i8", 1},     {"u16", 2},   {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4},
                            {"bool", 1}, {"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}};

} // namespace

const GgmlType* ggml_type(std::uint32_t number) {
    const auto* const at =
        std::find_if(std::begin(known), std::end(known), [&](const GgmlType& t) { return t.number == number; });
    return at == std::end(known) ? nullptr : at;
}

const GgmlType& ggml_type(WeightType type) {
    const auto* const at =
        std::find_if(std::begin(known), std::end(known), [&](const GgmlType& t) { return t.type == type; });
    if (at == std::end(known)) fail(ErrorCode::failure, "GGUF has no type ", name_of(type));
    return *at;
}

std::string_view name_of(GgufKind kind) {
    return kinds[static_cast<std::size_t>(kind)].name;
}

std::size_t kind_bytes(GgufKind kind) {
    return kinds[static_cast<std::size_t>(kind)].bytes;
}

} // namespace ordo
