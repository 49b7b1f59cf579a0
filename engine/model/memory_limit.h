// SPDX-License-Identifier: MIT
// The memory of weights, sessions and batches, counted together.
#pragma once

#include "ordo.h"

namespace ordo {

// Four fifths of the memory available to this process (io/control_group.h), in bytes.
std::uint64_t default_memory_limit();

std::uint64_t weight_bytes(const Model::Impl& model); // in memory

// Throws Error(limit) if the weights and so many bytes more exceed the limit together. taker: the subject of the
// message, in the plural.
void expect_memory(const std::string& taker, std::uint64_t bytes, std::uint64_t weights,
                   std::uint64_t limit = default_memory_limit());

} // namespace ordo
