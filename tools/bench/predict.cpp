// SPDX-License-Identifier: MIT
#include "tools/bench/predict.h"

#include "layers/cache_format.h"
#include "model/stack.h"
#include "tools/bench/training_speed.h"

#include <algorithm>
#include <charconv>

namespace ordo::bench {
namespace {

// The layer whose expert this tensor belongs to; null for other tensors.
const LayerPlan* layer_of_expert(const Blueprint& b, std::string_view name) {
    constexpr std::string_view before = "layers.", after = ".feed_forward.experts.";
    int layer = 0;
    if (!name.starts_with(before)) return nullptr;
    name.remove_prefix(before.size());
    const char* end = std::from_chars(name.data(), name.data() + name.size(), layer).ptr;
    name.remove_prefix(end - name.data());
    return name.starts_with(after) ? &b.layer(layer) : nullptr;
}

void add_experts(WeightSizes& sizes, const LayerPlan& plan, double bytes) {
    const auto same = [&](const auto& e) { return e.count == plan.experts && e.used == plan.experts_used; };
    const auto at = std::find_if(sizes.experts.begin(), sizes.experts.end(), same);
    if (at != sizes.experts.end())
        at->bytes += bytes;
    else
        sizes.experts.push_back({plan.experts, plan.experts_used, bytes});
}

// bytes(spec): the size of a tensor; type: of the embedding.
template <class Bytes>
WeightSizes sizes_of(const Blueprint& b, WeightType type, const Bytes& bytes) {
    WeightSizes sizes;
    sizes.row = static_cast<double>(row_bytes(type, b.embedding_cols()));
    for (const TensorSpec& spec : tensor_list(b)) {
        const auto size = static_cast<double>(bytes(spec));
        const bool embedding = spec.name == "embedding.weight";
        if (embedding ? b.tied_head
                      : spec.name.starts_with("head.") || spec.name.starts_with("head_projection.") ||
                            spec.name.starts_with("final_norm."))
            sizes.head += size;
        else if (const LayerPlan* plan = layer_of_expert(b, spec.name))
            add_experts(sizes, *plan, size);
        else if (!embedding)
            sizes.layers += size;
        sizes.all += size;
    }
    return sizes;
}

// The keys that n queries see, starting with token number `first`: pairs is their sum over the queries, keys the number
// of different keys.
struct Seen {
    double pairs = 0, keys = 0;
};
Seen seen_by(int window, int first, int n) {
    if (window == 0) window = first + n;
    Seen seen;
    for (int i = first; i < first + n; ++i) seen.pairs += std::min(i + 1, window);
    seen.keys = static_cast<double>(first + n - std::max(0, first + 1 - window));
    return seen;
}
// Summed over the layers, whose windows may differ.
Seen seen_by(const Blueprint& b, int first, int n) {
    Seen all;
    for (int l = 0; l < b.n_layers; ++l) {
        const Seen seen = seen_by(b.layer(l).window, first, n);
        all.pairs += seen.pairs;
        all.keys += seen.keys;
    }
    return all;
}

// Calls use(first, rows) for each pass in the timed part of a load.
template <class Use>
void for_passes(const Workload& load, int chunk, const Use& use) {
    const int last = load.n_depth + load.tokens(), step = load.n_gen > 0 ? 1 : chunk;
    for (int first = load.n_depth; first < last; first += step) use(first, std::min(step, last - first));
}

} // namespace

double WeightSizes::layers_read(double tokens) const {
    double bytes = layers;
    for (const Experts& e : experts) bytes += e.bytes * std::min(1.0, tokens * e.used / e.count);
    return bytes;
}

double pairs_seen(const Blueprint& b, int first, int n) {
    return seen_by(b, first, n).pairs;
}

WeightSizes weight_sizes(const Blueprint& b, WeightType type) {
    const WeightType embedding =
        type_within(type, {.name = "embedding.weight", .shape = {b.vocab_size, b.embedding_cols()}});
    return sizes_of(b, embedding, [&](const TensorSpec& spec) { return packed_bytes({&spec, 1}, type); });
}

WeightSizes weight_sizes(const Model& model) {
    const Model::Impl& impl = impl_of(model);
    return sizes_of(impl.blueprint, impl.weights.embedding().type(),
                    [&](const TensorSpec& spec) { return impl.tensors->held_bytes(spec.name); });
}

std::uint64_t weight_bytes(const Blueprint& blueprint, WeightType type) {
    const WeightSizes sizes = weight_sizes(blueprint, type);
    return static_cast<std::uint64_t>(sizes.layers_read(1) + sizes.head);
}

Cost predict(const Blueprint& b, WeightType type, const Workload& load, int chunk) {
    return predict(b, weight_sizes(b, type), load, chunk);
}

Cost predict(const Blueprint& b, const WeightSizes& sizes, const Workload& load, int chunk) {
    const double projection = static_cast<double>(b.embedding_width) * b.d_model; // before the head; 0: none
    const double head = static_cast<double>(b.embedding_cols()) * b.vocab_size + projection;
    const double layers = matmul_parameters(b) - head;
    const double pair_flops = 2 * 2.0 * b.n_heads * b.d_head; // q . k, and p v
    const double key_bytes = 2.0 * b.n_kv_heads * static_cast<double>(cache_format(load.cache).token_bytes(b.d_head));
    const int last = load.n_depth + load.tokens();
    Cost cost;
    for_passes(load, chunk, [&](int first, int rows) {
        const bool logits = load.n_gen > 0 || first + rows == last;
        const Seen seen = seen_by(b, first, rows);
        cost.flops += load.n_parallel * (2 * layers * rows + (logits ? 2 * head : 0) + pair_flops * seen.pairs);
        cost.bytes += sizes.layers_read(load.n_parallel * rows) + (logits ? sizes.head : 0) +
                      load.n_parallel * (sizes.row * rows + key_bytes * seen.keys);
    });
    return cost;
}

MomentOperations encoding_operations(const Blueprint& b, const ModelEncodings& encodings, const Workload& load,
                                     int chunk) {
    MomentOperations all;
    const auto add = [&](Moment moment, const Operations& operations) {
        all.products[moment] += operations.products / load.tokens();
        all.others[moment] += operations.others / load.tokens();
    };
    for_passes(load, chunk, [&](int first, int rows) {
        Work work{.tokens = static_cast<double>(rows), .positions = first + rows};
        add(moment_embed, encodings.embed_operations(work));
        work.query_rows = work.tokens * b.n_heads;
        work.key_rows = work.tokens * b.n_kv_heads;
        for (int layer = 0; layer < b.n_layers; ++layer) {
            work.pairs = b.n_heads * seen_by(b.layer(layer).window, first, rows).pairs;
            for (const MomentInfo& info : moments_of_a_pass)
                if (info.moment != moment_embed) add(info.moment, encodings.layer(layer).operations(info.moment, work));
        }
    });
    return all;
}

} // namespace ordo::bench
