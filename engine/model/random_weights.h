// SPDX-License-Identifier: MIT
// The numbers of random_model(), which model.h declares.
#pragma once

#include "core/random.h"
#include "core/weight_type.h"

#include <span>

namespace ordo {

// Uniform with a mean and a standard deviation.
void fill_uniform(std::span<float> out, const Random& random, double mean, double deviation);
// For block types to which floats are not converted: random bits, scaled so that the weights have a mean of about 0 and
// the given deviation.
void fill_blocks(std::span<std::byte> out, WeightType type, const Random& random, double deviation);

} // namespace ordo
