// SPDX-License-Identifier: MIT
// Watching hidden states and attention weights: the values are the oracle's, and watching changes no result.
#include "core/parallel.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>
#include <mutex>
#include <type_traits>

namespace ordo {
namespace {

constexpr int watched_tokens = 40;

struct WatchCase {
    std::string name, encoding;
    std::function<void(Blueprint&)> change = [](Blueprint&) {};
};
void PrintTo(const WatchCase& c, std::ostream* out) {
    *out << c.name;
}

Blueprint blueprint_of(const WatchCase& c) {
    Blueprint b = small_blueprint();
    b.n_kv_heads = 2;
    b.n_layers = 3;
    c.change(b);
    return b;
}

// A watcher and a session's states are read-only.
static_assert(std::is_same_v<decltype(std::declval<ConstView>().row(0)), const float*>);
static_assert(std::is_same_v<decltype(Watch::states), std::function<void(int, int, ConstView)>>);
static_assert(
    std::is_same_v<decltype(Watch::weights), std::function<void(int, int, int, int, std::span<const float>)>>);
static_assert(std::is_same_v<decltype(std::declval<Session>().encode({})), ConstView>);
static_assert(!std::is_convertible_v<ConstView, View>);

class Watching : public ::testing::TestWithParam<WatchCase> {};

// The observations of one sequence, by layer.
struct Record {
    std::map<int, Rows> states;                                             // [layer][token]
    std::map<std::pair<int, int>, std::vector<std::vector<float>>> weights; // [layer, head][query][key]
    std::mutex guard;

    Watch watch() {
        Watch w;
        w.states = [this](int layer, int first, ConstView x) {
            Rows& rows = states[layer];
            EXPECT_EQ(static_cast<std::size_t>(first), rows.size());
            for (int i = 0; i < x.rows; ++i) rows.emplace_back(x.row(i), x.row(i) + x.cols);
        };
        w.weights = [this](int layer, int head, int query, int first_key, std::span<const float> shown) {
            const std::lock_guard lock(guard);
            auto& queries = weights[{layer, head}];
            queries.resize(watched_tokens);
            std::vector<float>& row = queries[query];
            EXPECT_TRUE(row.empty()) << "query " << query << " is shown twice";
            row.assign(watched_tokens, 0);
            std::copy(shown.begin(), shown.end(), row.begin() + first_key);
        };
        return w;
    }
};

TEST_P(Watching, ShowsWhatTheOracleHas) {
    const Blueprint b = blueprint_of(GetParam());
    const Model model = random_model(b, GetParam().encoding, 91);
    const reference::Tensors tensors = tensors_of(model);
    const reference::Oracles oracles(model.encoding(), b.dims(), tensors, watched_tokens);
    ORDO_EXPECT_COMPLETE(oracles);
    const reference::Transformer oracle(b, tensors, oracles);
    reference::Input in{random_tokens(watched_tokens, b.vocab_size, 92), {}, {}};
    for (int i = 0; i < watched_tokens; ++i) in.positions.push_back(i);

    const int before = thread_count();
    for (const int threads : {1, 3}) {
        set_threads(threads);
        Record record;
        Session session(model, {watched_tokens, 13});
        session.watch(record.watch());
        if (b.bidirectional()) {
            session.feed(in.tokens);
        } else { // chunks, then single tokens
            session.feed(std::span(in.tokens).first(30));
            for (std::size_t i = 30; i < watched_tokens; ++i) session.feed({&in.tokens[i], 1});
        }
        const std::vector<reference::Matrix> states = oracle.states(in);
        for (int layer = -1; layer < b.n_layers; ++layer)
            EXPECT_LE(difference(record.states[layer], to_rows(states[layer + 1])), 1e-4) << layer;
        for (int layer = 0; layer < b.n_layers; ++layer)
            for (int head = 0; head < b.n_heads; ++head) {
                const reference::Matrix exact = oracle.attention_weights(in, layer, head);
                const auto& found = record.weights[{layer, head}];
                EXPECT_LE(difference(found, to_rows(exact)), 1e-5) << layer << ", head " << head;
                for (const std::vector<float>& row : found) {
                    double sum = 0;
                    for (const float w : row) sum += w;
                    if (encodings_of(model).layer(layer).moments() & moment_sink)
                        EXPECT_LT(sum, 1);
                    else
                        EXPECT_NEAR(sum, 1, 1e-5);
                }
            }
    }
    set_threads(before);
}

INSTANTIATE_TEST_SUITE_P(
    Models, Watching,
    ::testing::Values(WatchCase{"rope", "rope"}, WatchCase{"window", "t5", [](Blueprint& b) { b.window = 7; }},
                      WatchCase{"sink", "rope+sink"}, WatchCase{"whole_rows", "cope"},
                      WatchCase{"state", "forget+rope"}, WatchCase{"mix", "shaw"},
                      WatchCase{"embedding", "learned", [](Blueprint& b) { b.embedding_norm = true; }},
                      WatchCase{"post", "rope", [](Blueprint& b) { b.norm_place = NormPlace::post; }},
                      WatchCase{"capped", "alibi", [](Blueprint& b) { b.attention_softcap = 2; }},
                      WatchCase{"bidirectional", "deberta", [](Blueprint& b) { b.mask = Mask::bidirectional; }},
                      WatchCase{"pattern", "pattern(rope,none,sink)",
                                [](Blueprint& b) {
                                    b.pattern = {b, b};
                                    b.pattern[1].window = 5, b.pattern[1].norm_place = NormPlace::sandwich;
                                    b.pattern[0].experts = 3, b.pattern[0].experts_used = 2;
                                }}),
    [](const auto& test) { return test.param.name; });

// With more than 1,024 keys, a row is computed in chunks but shown whole. Its weights sum to 1, or to less with a sink.
TEST(WatchingASession, ChangesNoBitOfTheLogits) {
    Blueprint b = small_blueprint();
    b.context = 1100;
    for (const char* encoding : {"rope", "rope+sink", "shaw", "forget", "cope"}) {
        const Model model = random_model(b, encoding, 93);
        const std::vector<Token> tokens = random_tokens(1100, b.vocab_size, 94);
        const auto run = [&](const Watch& watch) {
            Session session(model, {1100, 64});
            session.watch(watch);
            session.feed(std::span(tokens).first(1010));
            Rows rows;
            for (std::size_t i = 1010; i < 1030; ++i) {
                const std::span<const float> logits = session.feed({&tokens[i], 1});
                rows.emplace_back(logits.begin(), logits.end());
            }
            const std::span<const float> logits = session.feed(std::span(tokens).subspan(1030));
            rows.emplace_back(logits.begin(), logits.end());
            return rows;
        };
        Watch states, weights;
        states.states = [](int, int, ConstView) {};
        weights.weights = [&](int layer, int head, int query, int first_key, std::span<const float> row) {
            double sum = 0;
            for (const float w : row) sum += w;
            EXPECT_EQ(first_key, 0);
            EXPECT_EQ(static_cast<int>(row.size()), query + 1);
            const bool sink = (encodings_of(model).layer(layer).moments() & moment_sink) != 0;
            if (sink)
                EXPECT_LT(sum, 1) << encoding << head;
            else
                EXPECT_NEAR(sum, 1, 1e-5) << encoding << head;
        };
        const Rows plain = run({}), with_states = run(states), with_weights = run(weights);
        EXPECT_EQ(difference(with_states, plain), 0) << encoding;
        EXPECT_EQ(difference(with_weights, plain), 0) << encoding;
    }
}

TEST(WatchingASession, EndsWithAnEmptyWatch) {
    const Model model = random_model(small_blueprint(), "rope", 95);
    Session session(model, {20});
    int seen = 0;
    Watch watch;
    watch.states = [&](int, int, ConstView) { ++seen; };
    session.watch(watch);
    session.feed(random_tokens(3, 101, 96));
    EXPECT_EQ(seen, 3); // the embedding and two layers
    session.watch({});
    session.feed(random_tokens(3, 101, 96));
    EXPECT_EQ(seen, 3);
}

// A call that a watcher ends has no effect. A watcher cannot change the session that it watches.
TEST(WatchingASession, MayEndACallAndMayNotDisturbIt) {
    const Model model = random_model(small_blueprint(), "rope", 97);
    const std::vector<Token> tokens = random_tokens(9, 101, 98);
    Session session(model, {20, 4}), other(model, {20, 4});
    Watch watch;
    watch.states = [&](int layer, int first, ConstView) {
        EXPECT_THROW(session.watch({}), Error);
        EXPECT_THROW(session.rewind(0), Error);
        if (layer == 1 && first == 4) throw 42;
    };
    session.watch(watch);
    EXPECT_THROW(session.feed(tokens), int);
    EXPECT_EQ(session.size(), 0);
    session.watch({});
    EXPECT_EQ(difference(session.feed(tokens), other.feed(tokens)), 0);
}

} // namespace
} // namespace ordo
