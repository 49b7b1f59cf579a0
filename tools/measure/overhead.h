// SPDX-License-Identifier: MIT
// What each encoding costs: the same trunk run with each of them in turn.
#pragma once

#include "model/model.h"
#include "tools/measure/predict.h"

namespace ordo::bench {

struct EncodingBytes {
    std::size_t tables = 0;     // what making and preparing it allocated, its tensors apart
    std::size_t parameters = 0; // its trainable tensors, as f32
};

// Operations per second that a pass of a load reaches within the calls of encodings, on all its threads: see moments.h.
struct MomentRates {
    double product = 0, sum = 0;
};

struct EncodingCost {
    std::string encoding; // canonical spec
    EncodingBytes bytes;
    std::vector<double> seconds; // of the pass, one for each round
    // The encoding's calls alone, per token: all layers, heads and threads together.
    PerMoment moment_us; // microseconds that pass
    MomentOperations moment_operations;
    MomentRates rates;

    // What the operations would take at the rates. Without a sink's, which are part of the softmax.
    double predicted_us() const {
        const double products = moment_operations.products.sum(), others = moment_operations.others.sum();
        return 1e6 * (products / rates.product + (others - moment_operations.others[moment_sink]) / rates.sum);
    }
};

// The weights of a model, and no encodings yet.
std::unique_ptr<Model::Impl> same_trunk(const Model& model);

// The same trunk with another encoding, without a copy: the weights of trunk, which must outlive the
// result. Every encoding is thus measured on the same memory; copies would differ by where their pages
// happened to lie, which can be worth more than an encoding. The encoding's own tensors are random.
Model with_encoding(const Model& trunk, std::string_view encoding, int context, EncodingBytes* bytes = nullptr);

struct Plan {
    std::vector<std::string> encodings; // "none" first
    int rounds = 5;
    int chunk = 256; // tokens processed at once in prefill
    int beside = 0;  // busy threads of no use
};

// Runs one load with every encoding: one round that is not counted, then `rounds` rounds of all
// encodings, each round in another random order. In the order of plan.encodings. on_pass is told of
// every pass that is about to run. Sets the number of threads.
std::vector<EncodingCost> measure(const Model& trunk, const Plan& plan, const Workload& load,
                                  const std::function<void(int round, std::string_view encoding)>& on_pass = {});

} // namespace ordo::bench
