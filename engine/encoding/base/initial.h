// SPDX-License-Identifier: MIT
// The values of tensors when training starts.
#pragma once

#include "rows.h"

namespace ordo {

// Fills a tensor with its initial values, from the random numbers of a seed and a stream. Each tensor has a stream of
// its own. The i-th normal or uniform number becomes the i-th value.
void fill_initial(const TensorSpec& spec, std::span<float> values, std::uint64_t seed, std::uint64_t stream);

} // namespace ordo
