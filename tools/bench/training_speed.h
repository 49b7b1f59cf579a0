// SPDX-License-Identifier: MIT
// The training speed of a trunk, and the speed of its matrix products alone.
#pragma once

#include "core/blas.h"
#include "model/blueprint.h"

namespace ordo::bench {

// One matrix product of a training step, c [m, n] = op(a) op(b) (+ c).
struct Product {
    std::string name; // "feed_forward.in dw"
    int m, n, k;
    Transpose ta, tb;
    bool accumulate;
    int count; // times in a step

    double flops() const { return 2.0 * m * n * k; } // of one product
};

// Every product that one step computes through BLAS: for each linear layer the output, the gradient of its input and
// the gradient of its weight. The same for the head, on at most head_rows rows at a time. rows: tokens of a step, a
// multiple of head_rows. The products of attention are not included.
std::vector<Product> training_products(const Blueprint& blueprint, int rows, int head_rows);

// Parameters in matrix products: no norms, no biases, and the embedding only if it is also the head.
double matmul_parameters(const Blueprint& blueprint);

// Useful floating point operations of one step: 6 for each such parameter and token (2 forward, 4 backward), and
// attention's products within the causal mask and the windows, 2 forward and 4 backward. Recomputation and operations
// other than products do not count.
double step_flops(const Blueprint& blueprint, int batch, int length);

struct TrainingPlan {
    Blueprint blueprint;
    std::string encoding;
    int batch = 32;  // sequences of blueprint.context tokens
    int rounds = 10; // timed ones; the first step is not timed
};

struct TrainingResult {
    std::size_t parameters = 0;
    double tokens = 0;               // of a step
    double flops = 0;                // of a step, as above
    std::vector<double> step;        // seconds, one for each round
    std::vector<double> trunk_sgemm; // FLOP/s at the trunk's own products, weighted by their use
    std::vector<double> cube_sgemm;  // FLOP/s at 2048 x 2048 x 2048
};

// Interleaved: each round is one step, then the products. Runs on the current number of threads.
TrainingResult measure_training(const TrainingPlan& plan);

} // namespace ordo::bench
