// SPDX-License-Identifier: MIT
// What the machine itself reaches, measured in the run that it is compared with.
#pragma once

#include "core/weight_type.h"
#include "model/blueprint.h"

namespace ordo::bench {

struct Limits {
    double stream = 0; // bytes/s at which the threads together read, one ascending stream each
    double sgemm = 0;  // FLOP/s of the BLAS
};

// The matrix [outputs, inputs] of a layer that has the most elements.
struct LargestMatrix {
    int outputs, inputs;
};
LargestMatrix largest_matrix(const Blueprint& blueprint);

// On so many threads, which it sets: reading as many bytes as the weights of a step of decoding (1 GiB at
// most) from huge pages, and the product of 512 rows with the largest matrix of a layer. Each is done
// once to warm up, then timed five times; the medians. What is shorter than 2 ms is repeated within a time.
Limits measure_limits(const Blueprint& blueprint, WeightType type, int threads);

// The better one of each, of two measurements: what slows the machine down for a while is not its limit.
Limits better(const Limits& a, const Limits& b);

} // namespace ordo::bench
