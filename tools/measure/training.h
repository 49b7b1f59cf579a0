// SPDX-License-Identifier: MIT
// How fast a trunk trains, and how fast its matrix products would be alone.
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
    int count; // how often a step does it

    double flops() const { return 2.0 * m * n * k; } // of one
};

// Every product that one step does through BLAS: for each linear layer the output, the gradient of its
// input and that of its weight, and the same for the head, on at most head_rows rows at a time. rows:
// tokens of a step, a multiple of head_rows. What attention multiplies is not among them.
std::vector<Product> training_products(const Blueprint& blueprint, int rows, int head_rows);

// Parameters that take part in a matrix product: no norms, no biases, the embedding only as a tied head.
double matmul_parameters(const Blueprint& blueprint);

// Useful floating point operations of one step: 6 for each such parameter and token (2 forward, 4 back),
// and attention's products over what a causal mask and windows leave, 2 forward and 4 back. What is computed again
// rather than kept, and everything that is not a product, does not count.
double step_flops(const Blueprint& blueprint, int batch, int length);

struct TrainingPlan {
    Blueprint blueprint;
    std::string encoding;
    int batch = 32;  // sequences of blueprint.context tokens
    int rounds = 10; // counted ones; the first step is not
};

struct TrainingResult {
    std::size_t parameters = 0;
    double tokens = 0;               // of a step
    double flops = 0;                // of a step, as above
    std::vector<double> step;        // seconds, one for each round
    std::vector<double> trunk_sgemm; // FLOP/s at the trunk's own products, weighted by their use
    std::vector<double> cube_sgemm;  // FLOP/s at 2048 x 2048 x 2048
};

// Interleaved: each round is one step, then the products. Runs on the threads that are set.
TrainingResult measure_training(const TrainingPlan& plan);

} // namespace ordo::bench
