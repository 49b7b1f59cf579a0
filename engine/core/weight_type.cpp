// SPDX-License-Identifier: MIT
#include "core/weight_type.h"

#include "core/error.h"

namespace ordo {

std::string_view name_of(WeightType type) {
    switch (type) {
    case WeightType::f32:
        return "f32";
    case WeightType::f16:
        return "f16";
    case WeightType::bf16:
        return "bf16";
    case WeightType::q8_0:
        return "q8_0";
    case WeightType::q4_0:
        return "q4_0";
    }
    return "";
}

WeightType weight_type(std::string_view name) {
    for (const WeightType type : weight_types)
        if (name == name_of(type)) return type;
    fail(ErrorCode::usage, "weight type: expected f32, f16, bf16, q8_0 or q4_0, found '", printable(name), "'");
}

std::uint64_t row_bytes(WeightType type, std::int64_t cols) {
    const auto n = static_cast<std::uint64_t>(cols);
    switch (type) {
    case WeightType::f32:
        return 4 * n;
    case WeightType::f16:
    case WeightType::bf16:
        return 2 * n;
    case WeightType::q8_0:
        return n / quant_block * (2 + 32);
    case WeightType::q4_0:
        return n / quant_block * (2 + 16);
    }
    return 0;
}

} // namespace ordo
