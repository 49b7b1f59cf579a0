// SPDX-License-Identifier: MIT
// The memory of weights, sessions and batches, counted together.
#pragma once

#include "model/model.h"

namespace ordo {

std::uint64_t weight_bytes(const Model::Impl& model); // in memory

// Throws Error(limit) if the weights and so many bytes more exceed the limit together. taker: the subject of the
// message, in the plural.
void expect_memory(const std::string& taker, std::uint64_t bytes, std::uint64_t weights,
                   std::uint64_t limit = default_memory_limit());

} // namespace ordo
