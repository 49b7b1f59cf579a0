// SPDX-License-Identifier: MIT
#include "model/memory_limit.h"

#include "core/error.h"

namespace ordo {

std::uint64_t weight_bytes(const Model::Impl& model) {
    std::uint64_t all = 0;
    for (const TensorSpec& spec : model.tensors.specs()) all += model.tensors.held_bytes(spec.name);
    return all;
}

void expect_memory(const std::string& taker, std::uint64_t bytes, std::uint64_t weights, std::uint64_t limit) {
    if (weights <= limit && bytes <= limit - weights) return;
    fail(ErrorCode::limit, taker, " take ", bytes, " bytes and the weights ", weights, ", together more than the ",
         limit, " that may be used");
}

} // namespace ordo
