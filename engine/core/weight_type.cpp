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

// In the order of WeightType. ggml asserts the same sizes for its structures (ggml-common.h).
constexpr WeightFormat formats[] = {
    {"f32", 1, 4},
    {"f16", 1, 2},
    {"bf16", 1, 2},
    {"q8_0", 32, 2 + 32, 1},
    {"q4_0", 32, 2 + 16, 1},
    {"q4_1", 32, 2 * 2 + 16, 2},
    {"q5_0", 32, 2 + 4 + 16, 1},
    {"q5_1", 32, 2 * 2 + 4 + 16, 2},
    {"iq4_nl", 32, 2 + 16, 1},
    {"q2_K", 256, 16 + 64 + 2 * 2, 2, 80},
    {"q3_K", 256, 32 + 64 + 12 + 2, 1, 108},
    {"q4_K", 256, 2 * 2 + 12 + 128, 2},
    {"q5_K", 256, 2 * 2 + 12 + 32 + 128, 2},
    {"q6_K", 256, 128 + 64 + 16 + 2, 1, 208},
    {"iq4_xs", 256, 2 + 2 + 4 + 128, 1},
};
static_assert(std::size(formats) == std::size(weight_types));

} // namespace

const WeightFormat& format_of(WeightType type) {
    return formats[static_cast<std::size_t>(type)];
}

std::string_view name_of(WeightType type) {
    return format_of(type).name;
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
    const WeightFormat& format = format_of(type);
    return static_cast<std::uint64_t>(cols / format.weights) * static_cast<std::uint64_t>(format.bytes);
}

} // namespace ordo
