// SPDX-License-Identifier: MIT
#include "core/weight_type.h"

#include "core/error.h"

namespace ordo {
namespace {

template <std::size_t N>
std::string names_of(const WeightType (&types)[N]) {
    std::string names;
    for (std::size_t i = 0; i < N; ++i)
        names += std::string(i == 0 ? "" : i + 1 < N ? ", " : " or ").append(name_of(types[i]));
    return names;
}

int block_bytes(WeightType type) {
    switch (type) {
    case WeightType::f32:
        return 4;
    case WeightType::f16:
    case WeightType::bf16:
        return 2;
    case WeightType::q8_0:
        return 2 + 32;
    case WeightType::q4_0:
        return 2 + 16;
    case WeightType::q5_0:
        return 2 + 4 + 16;
    case WeightType::q4_K:
        return 2 * 2 + 12 + 128;
    case WeightType::q5_K:
        return 2 * 2 + 12 + 32 + 128;
    case WeightType::q6_K:
        return 128 + 64 + 16 + 2;
    }
    return 0;
}

} // namespace

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
    case WeightType::q5_0:
        return "q5_0";
    case WeightType::q4_K:
        return "q4_K";
    case WeightType::q5_K:
        return "q5_K";
    case WeightType::q6_K:
        return "q6_K";
    }
    return "";
}

WeightType weight_type(std::string_view name) {
    for (const WeightType type : weight_types)
        if (name == name_of(type)) return type;
    fail(ErrorCode::usage, "weight type: expected ", names_of(weight_types), ", found '", printable(name), "'");
}

WeightType writable_type(std::string_view name) {
    for (const WeightType type : weight_types)
        if (name == name_of(type) && !writable(type))
            fail(ErrorCode::usage, "weight type: expected ", names_of(writable_types), ", found '", name,
                 "', which is only read from files that have it");
    for (const WeightType type : writable_types)
        if (name == name_of(type)) return type;
    fail(ErrorCode::usage, "weight type: expected ", names_of(writable_types), ", found '", printable(name), "'");
}

std::uint64_t row_bytes(WeightType type, std::int64_t cols) {
    return static_cast<std::uint64_t>(cols / block_size(type)) * static_cast<std::uint64_t>(block_bytes(type));
}

} // namespace ordo
