// SPDX-License-Identifier: MIT
#include "bench/predict.h"

#include "bench/training.h"

#include <algorithm>

namespace ordo::bench {
namespace {

// In bytes, of the tensors as they lie in memory.
struct Sizes {
    double layers = 0; // read for every pass, whatever its rows
    double head = 0;   // with the norm before it
    double row = 0;    // of the embedding
};

Sizes sizes_of(const Blueprint& b, WeightType type) {
    Sizes sizes;
    for (const TensorSpec& spec : tensor_list(b)) {
        const auto bytes = static_cast<double>(packed_bytes({&spec, 1}, type));
        const bool embedding = spec.name == "embedding.weight";
        if (embedding) sizes.row = static_cast<double>(row_bytes(type_within(type, spec), b.d_model));
        if (embedding ? b.tied_head : spec.name.starts_with("head.") || spec.name.starts_with("final_norm."))
            sizes.head += bytes;
        else if (!embedding)
            sizes.layers += bytes;
    }
    return sizes;
}

// Keys that n queries see, the first of which is the token with the index first: their sum, and how many
// there are.
struct Seen {
    double pairs, keys;
};
Seen seen_by(const Blueprint& b, int first, int n) {
    const int window = b.window == 0 ? first + n : b.window;
    double pairs = 0;
    for (int i = first; i < first + n; ++i) pairs += std::min(i + 1, window);
    return {pairs, static_cast<double>(first + n - std::max(0, first + 1 - window))};
}

} // namespace

std::uint64_t weight_bytes(const Blueprint& blueprint, WeightType type) {
    const Sizes sizes = sizes_of(blueprint, type);
    return static_cast<std::uint64_t>(sizes.layers + sizes.head);
}

Cost predict(const Blueprint& b, WeightType type, const Workload& load, int chunk) {
    const Sizes sizes = sizes_of(b, type);
    const double head = static_cast<double>(b.d_model) * b.vocab_size, layers = matmul_parameters(b) - head;
    const double pair_flops = 2 * 2.0 * b.n_layers * b.n_heads * b.d_head; // q . k, and p v
    const double key_bytes = 2.0 * (load.cache == CacheType::f32 ? 4 : 2) * b.n_layers * b.n_kv_heads * b.d_head;
    const int last = load.n_depth + load.tokens(), step = load.n_gen > 0 ? 1 : chunk;
    Cost cost;
    for (int first = load.n_depth; first < last; first += step) {
        const int rows = std::min(step, last - first);
        const bool logits = load.n_gen > 0 || first + rows == last;
        const Seen seen = seen_by(b, first, rows);
        cost.flops += load.n_parallel * (2 * layers * rows + (logits ? 2 * head : 0) + pair_flops * seen.pairs);
        cost.bytes +=
            sizes.layers + (logits ? sizes.head : 0) + load.n_parallel * (sizes.row * rows + key_bytes * seen.keys);
    }
    return cost;
}

} // namespace ordo::bench
