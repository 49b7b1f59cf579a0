// SPDX-License-Identifier: MIT
// The benchmark runs the passes that it reports. No test depends on speed.
#include "core/parallel.h"
#include "encoding/base/registry.h"
#include "tools/bench/moments.h"
#include "tools/bench/overhead.h"

#include <gtest/gtest.h>

namespace ordo::bench {
namespace {

Blueprint small() {
    Blueprint b;
    b.vocab_size = 60;
    b.context = 16;
    b.n_layers = 2;
    b.d_model = 16;
    b.n_heads = 2;
    b.n_kv_heads = 1;
    b.d_head = 8;
    b.d_ff = 24;
    return b;
}

std::vector<float> logits_of(const Model& model) {
    const Token tokens[] = {5, 1, 59, 0, 7, 7, 30};
    Session session(model);
    const std::span<const float> logits = session.feed(tokens);
    return {logits.begin(), logits.end()};
}

// The thread count is global to the process. It is restored, so that later tests do not inherit it.
class BenchOverhead : public testing::Test {
protected:
    ~BenchOverhead() override { set_threads(threads_); }

private:
    int threads_ = thread_count();
};

TEST_F(BenchOverhead, SharedWeightsComputeWhatOwnWeightsDo) {
    const Model trunk = random_model(small(), "none", 1);
    for (const char* spec : {"none", "rope", "alibi"}) // encodings without tensors
        EXPECT_EQ(logits_of(with_encoding(trunk, spec, 16)), logits_of(random_model(small(), spec, 1))) << spec;
    EXPECT_NE(logits_of(with_encoding(trunk, "rope", 16)), logits_of(trunk));
}

TEST_F(BenchOverhead, BytesAreThoseOfTheEncoding) {
    const Model trunk = random_model(small(), "none", 1);
    EncodingBytes none, learned, sinusoidal;
    with_encoding(trunk, "none", 64, &none);
    with_encoding(trunk, "learned", 64, &learned);
    with_encoding(trunk, "sinusoidal", 64, &sinusoidal);
    EXPECT_EQ(none.parameters, 0u);
    EXPECT_EQ(learned.parameters, 64u * 16 * 4);
    EXPECT_EQ(sinusoidal.parameters, 0u);
}

TEST_F(BenchOverhead, EveryEncodingRunsInEveryRound) {
    const Model trunk = random_model(small(), "none", 1);
    const Plan plan{{"none", "learned", "rope", "alibi"}, 3, 8};
    for (const Workload& load :
         {Workload{40, 0, 0, 1}, Workload{0, 5, 30, 2}, Workload{0, 5, 30, 2, 3}}) { // all beyond the context
        std::vector<int> passes(plan.rounds + 1);
        const auto count = [&](int round, std::string_view) { passes[round + 1]++; };
        const std::vector<EncodingCost> costs = measure(trunk, plan, load, count);
        EXPECT_EQ(passes, (std::vector<int>{4, 4, 4, 4})); // the first round warms up
        ASSERT_EQ(costs.size(), 4u);
        for (const EncodingCost& cost : costs) {
            EXPECT_EQ(cost.seconds.size(), 3u) << cost.encoding;
            for (const double s : cost.seconds) EXPECT_GT(s, 0);
        }
        EXPECT_EQ(costs[0].encoding, "none");
        EXPECT_EQ(costs[0].moment_us.sum(), 0);
        EXPECT_GT(costs[1].moment_us[moment_embed], 0);
        EXPECT_EQ(costs[1].moment_us.sum(), costs[1].moment_us[moment_embed]);
        EXPECT_GT(costs[2].moment_us[moment_rotate], 0);
        EXPECT_GT(costs[3].moment_us[moment_bias], 0);
        for (const EncodingCost& cost : costs) {
            EXPECT_GT(cost.rates.product, 0);
            EXPECT_GT(cost.rates.sum, 0);
            EXPECT_EQ(cost.predicted_us() > 0, cost.encoding != "none");
        }
    }
}

// An encoding that counts its calls.
class Counter final : public Encoding {
public:
    struct Counts {
        std::array<std::int64_t, PerMoment::count> calls{};
        std::int64_t embedded = 0, observed = 0, queries = 0, keys = 0, scores = 0, weights = 0;

        bool operator==(const Counts&) const = default;
    };
    explicit Counter(Counts& counts) : counts_(counts) {}

    std::string spec() const override { return "counter"; }
    unsigned reads() const override { return reads_queries | reads_keys | reads_state; }
    int state_floats() const override { return 1; }
    void embed(View x, const TokenRows&) const override { count(moment_embed, counts_.embedded, x.rows); }
    void observe(View x, int, Positions, const float*, View) const override {
        count(moment_observe, counts_.observed, x.rows);
    }
    void rotate(View x, const HeadRows& rows) const override {
        count(moment_rotate, rows.role == Role::query ? counts_.queries : counts_.keys, x.rows * rows.n_heads);
    }
    void bias(View scores, const Tile& tile) const override {
        EXPECT_TRUE(tile.q.data && tile.k.data && tile.key_state.data);
        count(moment_bias, counts_.scores, scores.rows * scores.cols);
    }
    void rescore(View scores, const Tile&) const override { count(moment_rescore, counts_.scores, scores.cols); }
    void mix(View, View weights, const Tile&) const override {
        count(moment_mix, counts_.weights, weights.rows * weights.cols);
    }

private:
    void count(Moment moment, std::int64_t& sum, int amount) const {
        ++counts_.calls[PerMoment::index(moment)];
        sum += amount;
    }

    Counts& counts_;
};

void feed(const Model& model, const Workload& load) {
    Session session(model, {.capacity = load.n_depth + load.tokens(), .chunk = 32, .first_position = 0});
    const std::vector<Token> tokens(static_cast<std::size_t>(load.n_depth + load.tokens()), 3);
    const auto depth = static_cast<std::size_t>(load.n_depth);
    if (depth > 0) session.feed(std::span(tokens).first(depth));
    if (load.n_prompt > 0)
        session.feed(std::span(tokens).subspan(depth));
    else
        for (std::size_t i = depth; i < tokens.size(); ++i) session.feed(std::span(tokens).subspan(i, 1));
}

// The clock times exactly the calls of the pass, each once.
TEST_F(BenchOverhead, TheClockSeesTheCallsOfThePass) {
    set_threads(1);
    for (const Workload& load : {Workload{70, 0, 30, 1}, Workload{0, 9, 3, 1}, Workload{150, 0, 0, 1}}) {
        Counter::Counts counts;
        std::vector<OwnEncoding> items;
        items.push_back(std::make_unique<Counter>(counts));
        const Model model = random_model(small(), ModelEncodings(std::move(items), small().n_layers), 1);
        feed(model, load);
        const Counter::Counts plain = std::exchange(counts, {});
        MomentClock clock;
        feed(timed(model, clock), load);
        EXPECT_EQ(counts, plain) << load.name();
        for (const MomentInfo& info : moments_of_a_pass) {
            EXPECT_EQ(clock.calls(info.moment), plain.calls[PerMoment::index(info.moment)])
                << load.name() << " " << info.name;
            EXPECT_EQ(clock.calls(info.moment) > 0,
                      (info.moment & (moment_sink | moment_shift | moment_positions)) == 0)
                << info.name;
        }
        clock.reset();
        EXPECT_EQ(clock.calls(moment_bias), 0);
    }
}

TEST_F(BenchOverhead, AClockChangesNothing) {
    const Model trunk = random_model(small(), "none", 1);
    std::vector<std::string> specs = {"pattern(rope,(shaw:clip=3))+sink", "rope:scaling=dynamic,original=4"};
    for (const EncodingInfo* info : registered_encodings()) specs.emplace_back(info->name);
    MomentClock clock;
    for (const std::string& spec : specs) {
        const Model model = with_encoding(trunk, spec, 16);
        EXPECT_EQ(logits_of(timed(model, clock)), logits_of(model)) << spec;
    }
    EXPECT_EQ(logits_of(timed(trunk, product_encoding(small(), 16, CacheType::f32), clock)), logits_of(trunk));
    EXPECT_EQ(logits_of(timed(trunk, sum_encoding(16), clock)), logits_of(trunk));
}

// Worked out by hand: 2 layers, with 2 heads of 8 over one key head.
TEST_F(BenchOverhead, OperationsAreThoseOfTheFormulas) {
    const Workload prompt{4, 0, 0, 1}, step{0, 1, 9, 1};
    const auto operations = [](const Blueprint& b, const char* spec, const Workload& load) {
        return encoding_operations(b, ModelEncodings(spec, b.dims()), load, 3);
    };
    const auto alibi = operations(small(), "alibi", prompt); // 1 + 2 + 3 + 4 pairs
    EXPECT_DOUBLE_EQ(alibi.others[moment_bias], 2 * 2 * 2 * 10 / 4.0);
    EXPECT_DOUBLE_EQ(alibi.sum(), alibi.others[moment_bias]);
    EXPECT_DOUBLE_EQ(operations(small(), "alibi", step).sum(), 2 * 2 * 2 * 10);
    EXPECT_DOUBLE_EQ(operations(small(), "pattern(alibi,none)", step).sum(), 2 * 2 * 10);
    EXPECT_DOUBLE_EQ(operations(small(), "rope", prompt).sum(), 2 * (2 + 1) * 4 * 6);
    EXPECT_DOUBLE_EQ(operations(small(), "segment", prompt).sum(), 16);
    const auto xl = operations(small(), "transformer-xl", step); // 10 distances for each head
    EXPECT_DOUBLE_EQ(xl.products[moment_bias], 2 * 2 * 10 * 2 * 8);
    const auto shaw = operations(small(), "shaw:clip=3", step); // distances 0 .. 3
    EXPECT_DOUBLE_EQ(shaw.products[moment_bias], 2 * 2 * 4 * 2 * 8);
    EXPECT_DOUBLE_EQ(shaw.others[moment_mix], 2 * 2 * 10);
    Blueprint windowed = small();
    windowed.window = 2;
    EXPECT_DOUBLE_EQ(operations(windowed, "t5", prompt).sum(), 2 * 2 * (1 + 2 + 2 + 2) / 4.0);
}

} // namespace
} // namespace ordo::bench
