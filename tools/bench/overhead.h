// SPDX-License-Identifier: MIT
// The cost of each encoding: the same trunk runs with each of them in turn.
#pragma once

#include "model/model_access.h"
#include "tools/bench/predict.h"

namespace ordo::bench {

struct EncodingBytes {
    std::size_t tables = 0;     // allocated for making and preparing it, without its tensors
    std::size_t parameters = 0; // its trainable tensors, as f32
};

// Operations per second within the calls of encodings, on all threads of a load's pass: see moments.h.
struct MomentRates {
    double product = 0, sum = 0;
};

struct EncodingCost {
    std::string encoding; // canonical spec
    EncodingBytes bytes;
    std::vector<double> seconds; // of the pass, for each round
    // The encoding's calls alone, per token: all layers, heads and threads together.
    PerMoment moment_us; // microseconds of elapsed time
    MomentOperations moment_operations;
    MomentRates rates;

    // The predicted time of the operations at these rates. Excludes a sink's, which are part of the softmax.
    double predicted_us() const {
        const double products = moment_operations.products.sum(), others = moment_operations.others.sum();
        return 1e6 * (products / rates.product + (others - moment_operations.others[moment_sink]) / rates.sum);
    }
};

// The weights of a model, without encodings.
std::unique_ptr<Model::Impl> same_trunk(const Model& model);

// The same trunk with another encoding. It shares the weights of trunk, which must outlive the result. So every
// encoding is measured on the same memory: copies would differ by the location of their pages, which can matter more
// than an encoding. The encoding's own tensors are random.
Model with_encoding(const Model& trunk, std::string_view encoding, int context, EncodingBytes* bytes = nullptr);

struct Plan {
    std::vector<std::string> encodings;
    int rounds = 5;
    int chunk = 256;    // tokens processed at once in prefill
    int beside = 0;     // threads that only keep processors busy
    bool alone = false; // only speed: without the time of the encodings' own calls
};

// Runs one load with every encoding: first a warm-up round, then `rounds` rounds of all encodings, each in a new random
// order. Returns the costs in the order of plan.encodings. Calls on_pass before every pass. Sets the number of threads.
std::vector<EncodingCost> measure(const Model& trunk, const Plan& plan, const Workload& load,
                                  const std::function<void(int round, std::string_view encoding)>& on_pass = {});

} // namespace ordo::bench
