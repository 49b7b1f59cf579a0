// SPDX-License-Identifier: MIT
// An encoding's calls alone. A whole pass cannot show a cost of one percent; its parts can.
#include "bench/overhead.h"
#include "bench/statistics.h"
#include "core/parallel.h"
#include "encoding/reach.h"

#include <algorithm>
#include <chrono>

namespace ordo::bench {
namespace {

double seconds_of(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Makes the calls of one load on memory of its own, cut as the pass cuts it: prefill in chunks, and
// each chunk's scores in tiles of queries (layers/attention.cpp).
class Calls {
public:
    Calls(const Blueprint& b, const EncodingStack& encodings, const Workload& load, int chunk)
        : b_(b), encodings_(encodings), load_(load), chunk_(load.n_gen > 0 ? 1 : chunk), x_(load.tokens(), b.d_model),
          qkv_(std::min(chunk_, load.tokens()), (b.n_heads + 2 * b.n_kv_heads) * b.d_head),
          scores_({b.n_heads, b.n_kv_heads, b.d_head, b.scale(), b.mask, b.window, b.attention_softcap},
                  load.n_depth + load.tokens(), 1) {
        check_reach(encodings, std::int64_t{load.n_depth} + load.tokens());
        for (int i = 0; i < load.n_depth + load.tokens(); ++i) positions_.push_back(i);
    }

    // Values in the place of activations; embed() may let them grow from call to call.
    void refill() {
        for (Tensor* t : {&x_, &qkv_})
            for (std::size_t i = 0; i < t->size(); ++i) t->data()[i] = 0.01f * static_cast<float>(i % 97);
    }

    void embed() {
        each_chunk([&](int first, int n) {
            encodings_.embed(rows_of(x_.view(), first - load_.n_depth, n), {positions(first, n), {}});
        });
    }

    void rotate() {
        const int q = b_.n_heads * b_.d_head, k = b_.n_kv_heads * b_.d_head;
        each_chunk([&](int first, int n) {
            const View rows = qkv_.view(n);
            for (int layer = 0; layer < b_.n_layers; ++layer) {
                encodings_.rotate(cols_of(rows, 0, q), b_.n_heads, positions(first, n), Role::query, layer);
                encodings_.rotate(cols_of(rows, q, k), b_.n_kv_heads, positions(first, n), Role::key, layer);
            }
        });
    }

    void bias() {
        each_chunk([&](int first, int n) {
            for (int layer = 0; layer < b_.n_layers; ++layer) layer_bias(layer, first, n);
        });
    }

private:
    static constexpr int tile = AttentionScratch::tile;

    Positions positions(int first, int n) const {
        return std::span(positions_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(n));
    }

    template <class Body>
    void each_chunk(const Body& body) const {
        const int last = load_.n_depth + load_.tokens();
        for (int first = load_.n_depth; first < last; first += chunk_) body(first, std::min(chunk_, last - first));
    }

    void layer_bias(int layer, int first, int n) {
        const int tiles = (n + tile - 1) / tile;
        // In decoding a row of scores is shorter than the time that a second thread needs to wake up.
        const int slots = n == 1 ? 1 : scores_.slots();
        parallel_for_slots(static_cast<std::ptrdiff_t>(tiles) * b_.n_heads, slots, [&](std::ptrdiff_t i, int slot) {
            const int row = (tiles - 1 - static_cast<int>(i) / b_.n_heads) * tile, rows = std::min(tile, n - row);
            const int last = b_.mask == Mask::causal ? first + row + rows : first + n;
            const int seen = b_.window == 0 ? 0 : std::max(0, first + row + 1 - b_.window);
            const int start = seen / KvCache::block * KvCache::block;
            encodings_.bias(scores_.scores(slot, rows, last - start), layer, static_cast<int>(i) % b_.n_heads,
                            positions(first + row, rows), positions(start, last - start));
        });
    }

    const Blueprint& b_;
    const EncodingStack& encodings_;
    Workload load_;
    int chunk_;
    Tensor x_, qkv_; // [tokens, d], [chunk, (H + 2 Hkv) e]
    AttentionScratch scores_;
    std::vector<int> positions_;
};

} // namespace

StageTimes stage_times(const Blueprint& blueprint, const EncodingStack& encodings, const Workload& load, int chunk,
                       int rounds) {
    set_threads(load.n_threads);
    Calls calls(blueprint, encodings, load, chunk);
    const unsigned moments = encodings.moments();
    const auto median = [&](unsigned moment, void (Calls::*stage)()) {
        if (!(moments & moment)) return 0.0; // the pass does not even ask
        std::vector<double> seconds;
        for (int round = -1; round < rounds; ++round) { // the first one warms up
            calls.refill();
            const double s = seconds_of([&] { (calls.*stage)(); });
            if (round >= 0) seconds.push_back(s);
        }
        return 1e6 * quantile(seconds, 0.5) / load.tokens();
    };
    return {median(moment_embed, &Calls::embed), median(moment_rotate, &Calls::rotate),
            median(moment_bias, &Calls::bias)};
}

} // namespace ordo::bench
