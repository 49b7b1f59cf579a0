// SPDX-License-Identifier: MIT
#include "model/stored_tensor.h"

#include "core/error.h"
#include "core/parallel.h"
#include "io/blocks.h"
#include "model/model.h"
#include "ops/finite.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

// Whether U8 may be blocks of the spec's weights.
bool has_blocks(const TensorSpec& spec) {
    return spec.shape.size() == 2 && spec.shape[1] % quant_block == 0;
}

std::vector<std::int64_t> shape_in_file(const TensorSpec& spec, WeightType type) {
    if (!quantised(type)) return spec.shape;
    return {spec.shape[0], static_cast<std::int64_t>(row_bytes(type, spec.shape[1]))};
}

// What a tensor's shape is compared with: for bytes that are blocks of no kind, that of q8_0.
std::vector<std::int64_t> expected_shape(const TensorInfo& info, const TensorSpec& spec) {
    if (info.dtype != "U8" || !has_blocks(spec)) return spec.shape;
    return shape_in_file(spec, stored_type(info, spec).value_or(WeightType::q8_0));
}

[[noreturn]] void not_finite(const Safetensors& file, const TensorInfo& tensor, std::span<const float> values,
                             std::size_t first) {
    const auto bad = std::find_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); });
    fail(ErrorCode::model, file.where(), ": tensor '", printable(tensor.name), "': element ",
         first + static_cast<std::size_t>(bad - values.begin()), " is ", *bad, ", which is not finite");
}

} // namespace

std::optional<WeightType> stored_type(const TensorInfo& info, const TensorSpec& spec) {
    if (info.dtype == "F32") return WeightType::f32;
    if (info.dtype == "F16") return WeightType::f16;
    if (info.dtype == "BF16") return WeightType::bf16;
    if (info.dtype != "U8" || !has_blocks(spec)) return std::nullopt;
    for (const WeightType type : {WeightType::q8_0, WeightType::q4_0})
        if (info.shape == shape_in_file(spec, type)) return type;
    return std::nullopt;
}

const TensorInfo& find_tensor(const Safetensors& file, const TensorSpec& spec, ErrorCode code, const std::string& why) {
    const auto name = [&] { return file.where() + ": tensor '" + printable(spec.name) + "'"; };
    const TensorInfo* info = file.find(spec.name);
    if (info == nullptr) fail(code, name(), ": expected ", shape_text(spec.shape), ", found none", why);
    const std::vector<std::int64_t> shape = expected_shape(*info, spec);
    if (info->shape != shape)
        fail(code, name(), ": expected ", shape_text(shape), ", found ", shape_text(info->shape), why);
    if (!stored_type(*info, spec))
        fail(ErrorCode::model, name(), ": expected dtype F32, F16 or BF16, or blocks of q8_0 or q4_0 in U8, found ",
             printable(info->dtype));
    return *info;
}

void read_tensor(const Safetensors& file, const TensorInfo& info, const TensorSpec& spec, std::span<float> out) {
    const WeightType type = *stored_type(info, spec);
    if (quantised(type)) {
        read_blocks(type, read_stored_blocks(file, info, spec), out); // rows are whole blocks and lie side by side
        return;
    }
    constexpr std::size_t part = Safetensors::part;
    parallel_for_throwing(static_cast<std::ptrdiff_t>((out.size() + part - 1) / part), [&](std::ptrdiff_t i) {
        const std::size_t first = static_cast<std::size_t>(i) * part;
        read_tensor_part(file, info, first, out.subspan(first, std::min(part, out.size() - first)));
    });
}

void read_tensor_part(const Safetensors& file, const TensorInfo& info, std::size_t first, std::span<float> out) {
    file.read_part(info, first, out);
    // Now, while the values are still in the cache.
    if (!all_finite(view(out.data(), 1, static_cast<int>(out.size())))) not_finite(file, info, out, first);
}

std::vector<std::byte> read_stored_blocks(const Safetensors& file, const TensorInfo& info, const TensorSpec& spec) {
    const WeightType type = *stored_type(info, spec);
    std::vector<std::byte> blocks(info.bytes);
    file.read_raw(info, blocks);
    if (const std::optional<std::size_t> wild = wild_block(type, blocks)) {
        const auto size = static_cast<std::size_t>(block_size(type)), bytes = row_bytes(type, block_size(type));
        std::vector<float> values(size);
        read_blocks(type, std::span(blocks).subspan(*wild * bytes, bytes), values);
        not_finite(file, info, values, *wild * size);
    }
    return blocks;
}

WeightType type_in_file(WeightType wanted, const TensorSpec& spec) {
    return quantised(wanted) ? type_within(wanted, spec) : wanted;
}

} // namespace ordo
