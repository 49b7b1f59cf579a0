// SPDX-License-Identifier: MIT
// The machine's own limits, measured in the same run as the models.
#pragma once

#include "core/weight_type.h"
#include "model/blueprint.h"

namespace ordo::bench {

struct Limits {
    double stream = 0;                       // bytes/s of all threads, each reading one ascending stream
    double sgemm = 0;                        // FLOP/s of the BLAS
    double floats = 0, pairs = 0, bytes = 0; // FLOP/s of the kernels' own products, with operands in registers

    // Of the products with weights of this type. Halves are multiplied as floats.
    double products(WeightType type) const;
};

// The matrix [outputs, inputs] of a layer with the most elements.
struct LargestMatrix {
    int outputs, inputs;
};
LargestMatrix largest_matrix(const Blueprint& blueprint);

// Sets the number of threads and measures: reads of as many bytes as a decoding step's weights (at most 1 GiB) from
// huge pages, the product of 512 rows with the largest matrix of a layer, and the peaks of the selected kernels. Each
// is done once to warm up, then timed five times; the results are the medians. Work shorter than 2 ms is repeated
// within a timing.
Limits measure_limits(const Blueprint& blueprint, WeightType type, int threads);

// The better value of each, from two measurements: a temporary slowdown is not the machine's limit.
Limits better(const Limits& a, const Limits& b);

} // namespace ordo::bench
