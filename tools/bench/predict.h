// SPDX-License-Identifier: MIT
// The minimum of operations and memory reads for a load, from the blueprint alone. Measured times are divided into it.
#pragma once

#include "core/weight_type.h"
#include "encoding/base/model_encodings.h"
#include "model/blueprint.h"
#include "model/memory_limit.h"
#include "tools/bench/workload.h"

#include <array>
#include <bit>
#include <numeric>

namespace ordo::bench {

struct Cost {
    double flops = 0; // multiplications and additions of products only
    double bytes = 0; // read from memory outside a core's caches: weights, keys and values
};

// Bytes of weights in memory.
struct WeightSizes {
    // Layers with `count` experts, of which each token uses `used`.
    struct Experts {
        int count = 0, used = 0;
        double bytes = 0; // of all experts
    };
    double layers = 0; // read for every pass, for any number of rows
    std::vector<Experts> experts = {};
    double head = 0; // with the norm before it
    double row = 0;  // one row of the embedding
    double all = 0;

    // The bytes of the layers that a pass of `tokens` tokens reads, if its tokens share experts as late as possible.
    double layers_read(double tokens) const;
};
WeightSizes weight_sizes(const Blueprint& blueprint, WeightType type);
WeightSizes weight_sizes(const Model& model); // of any types; a file may mix them

// The weights that a decoding step of one sequence reads. Excludes the experts that one token does not use, and most
// rows of an embedding that is not the head.
std::uint64_t weight_bytes(const Blueprint& blueprint, WeightType type);

// The (query, key) pairs of one head that the masks of all layers together allow, for n queries from token number
// `first`.
double pairs_seen(const Blueprint& blueprint, int first, int n);

// The cost of the timed part of a load, without encodings. The mask is causal. Weights are read once for each chunk of
// a prompt (`chunk` tokens) and once for each decoding step, which all sequences make together. Each sequence reads its
// own keys and values once for each chunk or step. Logits are computed after every decoded token, and after the last
// token of a prompt.
Cost predict(const Blueprint& blueprint, const WeightSizes& sizes, const Workload& load, int chunk);
Cost predict(const Blueprint& blueprint, WeightType type, const Workload& load, int chunk);

// A number for each moment.
struct PerMoment {
    static constexpr std::size_t count = std::size(moments_of_a_pass);
    static constexpr std::size_t index(Moment moment) {
        return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(moment)));
    }

    std::array<double, count> values{};

    double& operator[](Moment moment) { return values[index(moment)]; }
    double operator[](Moment moment) const { return values[index(moment)]; }
    double sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }
};

// Operations of the encodings in the timed part of a load, per token.
struct MomentOperations {
    PerMoment products, others;

    double sum() const { return products.sum() + others.sum(); }
};
MomentOperations encoding_operations(const Blueprint& blueprint, const ModelEncodings& encodings, const Workload& load,
                                     int chunk);

} // namespace ordo::bench
