// SPDX-License-Identifier: MIT
#include "model/memory_limit.h"

#include "core/error.h"
#include "core/number.h"

namespace ordo {

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
    if (bytes < mebibyte) return number_text(bytes) + " bytes";
    const bool large = bytes >> 10 >= mebibyte;
    const double size = static_cast<double>(bytes) / static_cast<double>(large ? mebibyte << 10 : mebibyte);
    return fixed_text(size, 1) + (large ? " GiB" : " MiB");
}

std::uint64_t weight_bytes(const Model::Impl& model) {
    std::uint64_t all = 0;
    for (const TensorMemory* const memory :
         std::initializer_list<const TensorMemory*>{model.tensors.get(), &model.lacking})
        for (const TensorSpec& spec : memory->specs()) all += memory->held_bytes(spec.name);
    return all;
}

void expect_memory(const std::string& taker, std::uint64_t bytes, std::uint64_t weights, std::uint64_t limit) {
    if (weights <= limit && bytes <= limit - weights) return;
    fail(ErrorCode::limit, taker, " take ", bytes_text(bytes), " and the weights ", bytes_text(weights),
         ", together more than the ", bytes_text(limit), " that may be used");
}

} // namespace ordo
