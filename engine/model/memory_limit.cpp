// SPDX-License-Identifier: MIT
#include "model/memory_limit.h"

#include "core/error.h"
#include "core/number.h"
#include "io/control_group.h"
#include "model/stack.h"

namespace ordo {

std::uint64_t default_memory_limit() {
    return usable_memory() / 5 * 4;
}

std::uint64_t weight_bytes(const Model::Impl& model) {
    return model.tensors->held_bytes() + model.lacking.held_bytes();
}

void expect_memory(const std::string& taker, std::uint64_t bytes, std::uint64_t weights, std::uint64_t limit) {
    if (weights <= limit && bytes <= limit - weights) return;
    fail(ErrorCode::limit, taker, " take ", bytes_text(bytes), " and the weights ", bytes_text(weights),
         ", together more than the ", bytes_text(limit), " that may be used");
}

} // namespace ordo
