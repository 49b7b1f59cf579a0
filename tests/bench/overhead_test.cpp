// SPDX-License-Identifier: MIT
// What the benchmark runs is what it says it runs. Nothing here depends on how fast anything is.
#include "bench/overhead.h"
#include "core/parallel.h"

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

// The thread count is the process's: tests that follow must not inherit what a measurement sets.
class BenchOverhead : public testing::Test {
protected:
    ~BenchOverhead() override { set_threads(threads_); }

private:
    int threads_ = thread_count();
};

TEST_F(BenchOverhead, SharedWeightsComputeWhatOwnWeightsDo) {
    const Model trunk = random_model(small(), "none", 1);
    for (const char* spec : {"none", "rope", "alibi"}) // without tensors of their own
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
        const auto count = [&](int round, std::string_view) { passes[static_cast<std::size_t>(round + 1)]++; };
        const std::vector<EncodingCost> costs = measure(trunk, plan, load, count);
        EXPECT_EQ(passes, (std::vector<int>{4, 4, 4, 4})); // the first round warms up
        ASSERT_EQ(costs.size(), 4u);
        for (const EncodingCost& cost : costs) {
            EXPECT_EQ(cost.seconds.size(), 3u) << cost.encoding;
            for (const double s : cost.seconds) EXPECT_GT(s, 0);
        }
        EXPECT_EQ(costs[0].encoding, "none");
        EXPECT_EQ(costs[0].stages.sum(), 0);
        EXPECT_GT(costs[1].stages.embed, 0);
        EXPECT_EQ(costs[1].stages.rotate + costs[1].stages.bias, 0);
        EXPECT_GT(costs[2].stages.rotate, 0);
        EXPECT_GT(costs[3].stages.bias, 0);
    }
}

// An encoding that counts what it is asked to do.
class Counter final : public Encoding {
public:
    struct Counts {
        std::int64_t embedded = 0, queries = 0, keys = 0, scores = 0;
    };
    explicit Counter(Counts& counts) : counts_(counts) {}

    std::string spec() const override { return "counter"; }
    unsigned moments() const override { return moment_embed | moment_rotate | moment_bias; }
    void embed(View x, const TokenRows& rows) const override {
        EXPECT_EQ(x.rows, static_cast<int>(rows.positions.size()));
        counts_.embedded += x.rows;
    }
    void rotate(View x, int n_heads, Positions, Role role, int) const override {
        (role == Role::query ? counts_.queries : counts_.keys) += std::int64_t{x.rows} * n_heads;
    }
    void bias(View scores, int, int, Positions queries, Positions keys) const override {
        EXPECT_EQ(scores.rows, static_cast<int>(queries.size()));
        EXPECT_EQ(scores.cols, static_cast<int>(keys.size()));
        counts_.scores += std::int64_t{scores.rows} * scores.cols;
    }

private:
    Counts& counts_;
};

// The stages alone make the very calls of the pass: as many rows and scores, on as many layers.
TEST_F(BenchOverhead, StagesMakeTheCallsOfThePass) {
    set_threads(1);
    for (const Workload& load : {Workload{70, 0, 30, 1}, Workload{0, 9, 3, 1}, Workload{150, 0, 0, 1}}) {
        Counter::Counts pass, alone, before;
        const auto stack = [](Counter::Counts& counts) {
            std::vector<std::unique_ptr<Encoding>> items;
            items.push_back(std::make_unique<Counter>(counts));
            return EncodingStack(std::move(items));
        };
        const Model model = random_model(small(), stack(pass), 1);
        Session session(model, {.capacity = load.n_depth + load.tokens(), .chunk = 32, .first_position = 0});
        const std::vector<Token> tokens(static_cast<std::size_t>(load.n_depth + load.tokens()), 3);
        const auto depth = static_cast<std::size_t>(load.n_depth);
        if (depth > 0) session.feed(std::span(tokens).first(depth));
        before = pass;
        if (load.n_prompt > 0)
            session.feed(std::span(tokens).subspan(depth));
        else
            for (std::size_t i = depth; i < tokens.size(); ++i) session.feed(std::span(tokens).subspan(i, 1));

        stage_times(small(), stack(alone), load, 32, 1); // a round that warms up and one that counts
        EXPECT_EQ(alone.embedded, 2 * (pass.embedded - before.embedded)) << load.name();
        EXPECT_EQ(alone.queries, 2 * (pass.queries - before.queries)) << load.name();
        EXPECT_EQ(alone.keys, 2 * (pass.keys - before.keys)) << load.name();
        EXPECT_EQ(alone.scores, 2 * (pass.scores - before.scores)) << load.name();
    }
}

} // namespace
} // namespace ordo::bench
