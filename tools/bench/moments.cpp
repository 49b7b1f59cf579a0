// SPDX-License-Identifier: MIT
#include "tools/bench/moments.h"

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "layers/kv_cache.h"
#include "model/stack.h"
#include "tools/bench/overhead.h"
#include "tools/bench/statistics.h"

#include <algorithm>

namespace ordo::bench {
namespace {

class Idle final : public Encoding {
public:
    std::string spec() const override { return "idle"; }
    unsigned moments() const override { return moment_bias; }
};

class Multiplication final : public Encoding {
public:
    Multiplication(const Blueprint& b, int tokens, CacheType type)
        : e_(b.d_head), group_(b.n_heads / b.n_kv_heads), keys_({b.n_layers, b.n_kv_heads, e_, tokens, type}) {
        Tensor rows(tokens, b.n_kv_heads * e_); // not zeros, which a system may keep in a single page
        std::fill_n(rows.data(), rows.size(), 0.5f);
        for (int layer = 0; layer < b.n_layers; ++layer) keys_.store(layer, 0, 0, rows.view(), rows.view());
    }

    std::string spec() const override { return "product"; }
    unsigned reads() const override { return reads_queries; }
    Operations operations(Moment moment, const Work& work) const override {
        return {.products = moment == moment_bias ? 2 * e_ * work.pairs : 0};
    }
    // The keys of a tile begin with a slab.
    void bias(View scores, const Tile& tile) const override {
        constexpr int slab = KvCache::slab;
        const int width = (scores.cols + slab - 1) / slab * slab;
        thread_local std::vector<float> memory;
        memory.resize(static_cast<std::size_t>(scores.rows) * static_cast<std::size_t>(width));
        const View products = view(memory.data(), scores.rows, width);
        thread_local std::vector<std::byte> queries;
        queries.resize(CacheFormat::query_bytes(scores.rows, e_));
        keys_.multiply_keys(tile.layer, tile.head / group_, tile.first_key, tile.scale, tile.q, queries.data(),
                            products);
    }

private:
    int e_, group_;
    KvCache keys_;
};

class Sum final : public Encoding {
public:
    explicit Sum(int tokens) : zeros_(static_cast<std::size_t>(tokens)) {}

    std::string spec() const override { return "sum"; }
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? work.pairs : 0};
    }
    void bias(View scores, const Tile&) const override {
        for (int i = 0; i < scores.rows; ++i) kernels().add(scores.cols, zeros_.data(), scores.row(i));
    }

private:
    std::vector<float> zeros_;
};

} // namespace

MomentClock::MomentClock() : slots_(static_cast<std::size_t>(thread_count())) {
    constexpr int rounds = 51, calls = 200;
    std::vector<OwnEncoding> items;
    items.push_back(std::make_unique<Idle>());
    ModelEncodings idle(std::move(items), 1);
    idle.time_with(this);
    std::vector<double> costs;
    for (int round = 0; round < rounds; ++round) {
        reset();
        for (int i = 0; i < calls; ++i) idle.layer(0).bias({}, {});
        costs.push_back(seconds()[moment_bias] / calls);
    }
    cost_ = quantile(costs, 0.5);
    reset();
}

void MomentClock::reset() {
    for (Slot& slot : slots_) slot = {};
}

void MomentClock::add(Moment moment, Clock::duration time) {
    Slot& slot = slots_[static_cast<std::size_t>(thread_index()) % slots_.size()];
    const double share = 1.0 / detail::member.threads;
    slot.seconds[moment] += share * std::chrono::duration<double>(time).count();
    slot.shares[moment] += share;
    ++slot.calls[PerMoment::index(moment)];
}

PerMoment MomentClock::seconds() const {
    PerMoment sum;
    for (const Slot& slot : slots_)
        for (const MomentInfo& info : moments_of_a_pass)
            sum[info.moment] += slot.seconds[info.moment] - cost_ * slot.shares[info.moment];
    for (double& seconds : sum.values) seconds = std::max(0.0, seconds);
    return sum;
}

std::int64_t MomentClock::calls(Moment moment) const {
    std::int64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.calls[PerMoment::index(moment)];
    return sum;
}

OwnEncoding product_encoding(const Blueprint& blueprint, int tokens, CacheType type) {
    return std::make_unique<Multiplication>(blueprint, tokens, type);
}
OwnEncoding sum_encoding(int tokens) {
    return std::make_unique<Sum>(tokens);
}

namespace {

Model timed(const Model& model, ModelEncodings encodings, MomentClock& clock) {
    auto impl = same_trunk(model);
    impl->encodings = std::move(encodings);
    impl->prepared = impl_of(model).prepared;
    impl->encodings.time_with(&clock);
    impl->program = compile(impl->blueprint, impl->encodings);
    return Model(std::move(impl));
}

} // namespace

Model timed(const Model& model, MomentClock& clock) {
    return timed(model, encodings_of(model), clock);
}
Model timed(const Model& model, OwnEncoding encoding, MomentClock& clock) {
    std::vector<OwnEncoding> items;
    items.push_back(std::move(encoding));
    return timed(model, ModelEncodings(std::move(items), blueprint_of(model).n_layers), clock);
}

} // namespace ordo::bench
