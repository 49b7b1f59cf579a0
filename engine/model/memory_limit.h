// SPDX-License-Identifier: MIT
// The memory of weights, sessions and batches, and what errors say about it.
#pragma once

#include "model/model.h"

namespace ordo {

std::uint64_t weight_bytes(const Model::Impl& model); // in memory

// A size for people: "40 bytes", "1.5 MiB", "13.5 GiB".
std::string bytes_text(std::uint64_t bytes);

// Throws Error(limit) if the weights and so many bytes more exceed the limit together. taker: the subject of the
// message, in the plural.
void expect_memory(const std::string& taker, std::uint64_t bytes, std::uint64_t weights,
                   std::uint64_t limit = default_memory_limit());

} // namespace ordo
