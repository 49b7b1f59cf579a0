// SPDX-License-Identifier: MIT
// What tensors hold when training starts.
#pragma once

#include "ordo.h"

namespace ordo {

// Fills a tensor with its initial values, by the random numbers of a seed and a stream, which is the tensor's own: of
// normal and uniform ones the i-th number is the i-th value.
void fill_initial(const TensorSpec& spec, std::span<float> values, std::uint64_t seed, std::uint64_t stream);

} // namespace ordo
