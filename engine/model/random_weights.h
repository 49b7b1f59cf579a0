// SPDX-License-Identifier: MIT
// Weights of random_model().
#pragma once

#include "core/random.h"
#include "core/weight_type.h"

#include <span>

namespace ordo {

// Uniform with a mean and a standard deviation.
void fill_uniform(std::span<float> out, const Random& random, double mean, double deviation);
// Blocks of a type that floats are not turned into: random bits, scaled so that the weights' mean is about 0 and their
// deviation what is asked for.
void fill_blocks(std::span<std::byte> out, WeightType type, const Random& random, double deviation);

} // namespace ordo
