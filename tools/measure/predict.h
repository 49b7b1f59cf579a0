// SPDX-License-Identifier: MIT
// What a load must compute and read at the least, from the blueprint alone: what was measured is divided
// into it.
#pragma once

#include "core/weight_type.h"
#include "encoding/base/stack.h"
#include "model/blueprint.h"
#include "tools/measure/workload.h"

#include <array>
#include <bit>
#include <numeric>

namespace ordo::bench {

struct Cost {
    double flops = 0; // multiplications and additions of products; nothing else is counted
    double bytes = 0; // read from memory that no cache of a core holds: weights, keys and values
};

// Bytes of weights as they lie in memory.
struct WeightSizes {
    // In layers with so many, of which each token passes so many.
    struct Experts {
        int count = 0, used = 0;
        double bytes = 0; // of all of them
    };
    double layers = 0; // read for every pass, whatever its rows
    std::vector<Experts> experts = {};
    double head = 0; // with the norm before it
    double row = 0;  // of the embedding
    double all = 0;

    // What a pass of so many tokens reads of the layers, if these share experts no sooner than they must.
    double layers_read(double tokens) const;
};
WeightSizes weight_sizes(const Blueprint& blueprint, WeightType type);
WeightSizes weight_sizes(const Model& model); // of any types, as a file may mix them

// Weights that a step of decoding one sequence reads: all, but of experts those of one token, and of an embedding that
// is not the head only some rows.
std::uint64_t weight_bytes(const Blueprint& blueprint, WeightType type);

// (query, key) pairs of one head that the masks of all layers together leave, of n queries from the token with the
// index first on.
double pairs_seen(const Blueprint& blueprint, int first, int n);

// Of the part of a load that is timed, encodings apart. The mask is causal. Weights are read once for
// each chunk of a prompt, which are of `chunk` tokens, and once for each step of decoding, which all
// sequences make together; each of them reads its own keys and values once for a chunk or step.
// Logits are computed after every token of decoding, and after the last one of a prompt.
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

// Operations of the encodings in the same part of a load, per token.
struct MomentOperations {
    PerMoment products, others;

    double sum() const { return products.sum() + others.sum(); }
};
MomentOperations encoding_operations(const Blueprint& blueprint, const EncodingStack& encodings, const Workload& load,
                                     int chunk);

} // namespace ordo::bench
