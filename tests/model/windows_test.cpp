// SPDX-License-Identifier: MIT
// Compares sessions whose windowed layers keep only the window with sessions that keep everything.
#include "model/session_impl.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr int window = 20, capacity = 700;

// One layer in three has no window.
Blueprint windowed(int layers) {
    Blueprint b = small_blueprint();
    b.context = capacity;
    b.n_layers = layers;
    b.window = window;
    if (layers < 3) return b;
    std::vector<LayerPlan> plans(static_cast<std::size_t>(layers), b);
    plans[1].window = 0;
    b.pattern = plans;
    return b;
}

SessionOptions forgetting(int chunk, CacheType type = CacheType::f32) {
    SessionOptions options{.capacity = capacity, .chunk = chunk, .cache = type};
    options.forget_past_windows = true;
    return options;
}

class Windows : public ::testing::TestWithParam<const char*> {};

TEST_P(Windows, ForgottenKeysChangeNoBit) {
    const Model model = random_model(windowed(3), GetParam(), 1);
    const std::vector<Token> tokens = random_tokens(capacity, small_vocab, 2);
    for (const CacheType type : {CacheType::f32, CacheType::f16, CacheType::bf16, CacheType::q8_0})
        for (const int chunk : {1, 24, 256}) {
            const SessionOptions all{.capacity = capacity, .chunk = chunk, .cache = type};
            Session forgets(model, forgetting(chunk, type)), keeps(model, all);
            EXPECT_EQ(logits_of(forgets, tokens), logits_of(keeps, tokens)) << GetParam() << ' ' << chunk;
        }
}

INSTANTIATE_TEST_SUITE_P(Encodings, Windows,
                         ::testing::Values("none", "rope", "alibi", "t5", "shaw", "cope", "forget", "deberta"));

TEST(WindowsOfABatch, ForgottenKeysChangeNoBit) {
    const Model model = random_model(windowed(3), "rope", 1);
    const std::vector<Token> tokens = random_tokens(capacity, small_vocab, 2);
    Session one(model, forgetting(16)), two(model, forgetting(16)), whole(model, {.capacity = capacity, .chunk = 16});
    Batch batch(model, 2, capacity), alone(model, 2, capacity);
    one.feed(std::span(tokens).first(300));
    whole.feed(std::span(tokens).first(300));
    Session *const both[] = {&one, &two}, *const kept[] = {&whole};
    for (std::size_t i = 300; i < tokens.size(); ++i) {
        const Token next[] = {tokens[i], tokens[i - 300]};
        const View found = batch.feed(both, next), expected = alone.feed(kept, {next, 1});
        ASSERT_TRUE(std::equal(found.row(0), found.row(0) + small_vocab, expected.row(0))) << i;
    }
}

TEST(WindowsInMemory, TakeWhatTheySpan) {
    const std::vector<int> windows = {0, window, window};
    KvCacheShape shape{3, 2, 8, 1 << 20, CacheType::f32};
    const std::uint64_t whole = KvCache::bytes(shape);
    shape.chunk = 32;
    shape.windows = windows;
    const std::uint64_t keys_of_a_layer = 2ull * 2 * 8 * 4 << 20;
    EXPECT_LT(KvCache::bytes(shape), whole - 2 * keys_of_a_layer + 2 * 2 * 2 * 8 * 4 * (window + 32 + 256));
    EXPECT_GT(KvCache::bytes(shape), whole - 2 * keys_of_a_layer);
    shape.windows = {0, 1 << 20, 1 << 22}; // windows as large as the context
    EXPECT_EQ(KvCache::bytes(shape), whole);
}

TEST(WindowsAndRewind, ReachBackAsFarAsAllIsHeld) {
    const Model model = random_model(windowed(3), "rope", 3);
    const std::vector<Token> tokens = random_tokens(capacity, small_vocab, 4);
    const std::span<const Token> all(tokens);
    Session session(model, forgetting(16)), whole(model, {.capacity = capacity, .chunk = 16});
    session.feed(all.first(600));
    EXPECT_TRUE(session.can_rewind(600));
    EXPECT_TRUE(session.can_rewind(599));
    EXPECT_TRUE(session.can_rewind(0));
    EXPECT_FALSE(session.can_rewind(100));
    EXPECT_FALSE(session.can_rewind(601));
    EXPECT_FALSE(session.can_rewind(-1));
    EXPECT_THROW(session.rewind(100), Error);
    EXPECT_EQ(session.size(), 600);
    // The session is correct as far back as it can rewind.
    int least = 600;
    while (session.can_rewind(least - 1)) --least;
    EXPECT_GT(least, window);
    session.rewind(least);
    whole.feed(all.first(least));
    EXPECT_LE(difference(session.feed(all.first(90)), whole.feed(all.first(90))), 1e-5);
    session.rewind(0);
    whole.rewind(0);
    EXPECT_EQ(difference(session.feed(all.first(50)), whole.feed(all.first(50))), 0);
    EXPECT_TRUE(session.can_rewind(1));
}

// In one layer, the remaining tokens behave as if no others had ever been fed.
TEST(WindowsAndEvict, QueriesSeeWhatIsLeft) {
    const Model model = random_model(windowed(1), "rope", 5);
    const std::vector<Token> tokens = random_tokens(capacity, small_vocab, 6);
    const std::span<const Token> all(tokens), next = all.first(90);
    for (const CacheType type : {CacheType::f32, CacheType::f16, CacheType::bf16, CacheType::q8_0})
        for (const int fed : {300, 333, 400, 447, 448, 511})
            for (const int count : {3, 64, 101, 280}) {
                Session session(model, forgetting(16, type)), other(model, {.capacity = capacity, .chunk = 16});
                session.feed(all.first(fed));
                session.evict(2, count);
                EXPECT_EQ(session.size(), fed - count);
                // The window of the next token also includes the tokens after `2 + count`.
                const int left = std::min(window - 1, fed - 2 - count);
                other.feed(all.subspan(fed - left, left));
                const double most = type == CacheType::f32 ? 1e-4 : type == CacheType::f16 ? 2e-2 : 1e-1;
                EXPECT_LE(difference(session.feed(all.first(1)), other.feed(all.first(1))), most)
                    << fed << ' ' << count;
                EXPECT_LE(difference(session.feed(next), other.feed(next)), most) << fed << ' ' << count;
            }
    // The evicted tokens follow the forgotten ones, so the window of the rest reaches back to forgotten tokens. Of 600
    // tokens, the layer still holds those from 512 on.
    for (const auto& [first, count] : {std::pair{520, 70}, {515, 80}, {512, 64}, {513, 87}}) {
        Session session(model, forgetting(16)), other(model, {.capacity = capacity, .chunk = 16});
        session.feed(all.first(600));
        session.evict(first, count);
        for (const auto& [from, to] : {std::pair{512, first}, {first + count, 600}}) {
            const auto begin = static_cast<std::size_t>(from), left = static_cast<std::size_t>(to - from);
            if (left > 0) other.feed(all.subspan(begin, left));
        }
        for (const std::span<const Token> more : {all.first(1), next})
            EXPECT_LE(difference(session.feed(more), other.feed(more)), 1e-4) << first << ' ' << count;
    }
    Session session(model, forgetting(16)), other(model, {.capacity = capacity, .chunk = 16});
    session.feed(all.first(400));
    session.evict(2, 398);               // all that the layer holds
    EXPECT_FALSE(session.can_rewind(1)); // the tokens in its window are gone
    EXPECT_LE(difference(session.feed(all.first(1)), other.feed(all.first(1))), 1e-4);
}

// A session may have forgotten the tokens that it would go back to.
TEST(WindowsAndRewind, ACallThatFailsLeavesTheSessionAsItWasOrEmpty) {
    const Model model = random_model(windowed(3), "rope", 3);
    const std::vector<Token> tokens = random_tokens(capacity, small_vocab, 4);
    const std::span<const Token> all(tokens);
    for (const int before : {10, 550}) {
        Session session(model, forgetting(16)), whole(model, {.capacity = capacity, .chunk = 16});
        session.feed(all.first(before));
        const auto stop = [&](int first, View) {
            if (first + 16 + before >= 600) throw std::runtime_error("stop");
        };
        EXPECT_THROW(session.feed_all(all.subspan(before), {}, stop), std::runtime_error);
        EXPECT_EQ(session.size(), before == 10 ? 0 : before);
        whole.feed(all.first(session.size() == 0 ? 1 : before));
        if (session.size() == 0) session.feed(all.first(1));
        EXPECT_LE(difference(session.feed(all.first(90)), whole.feed(all.first(90))), 1e-5);
    }
}

// Moved tokens stay complete where nothing was forgotten, as without the option.
TEST(WindowsAndEvict, WhatFollowsTheForgottenMovesAsEver) {
    const Model model = random_model(windowed(3), "rope", 5);
    const std::vector<Token> tokens = random_tokens(capacity, small_vocab, 6);
    const std::span<const Token> all(tokens);
    Session session(model, forgetting(16)), whole(model, {.capacity = capacity, .chunk = 16});
    for (Session* s : {&session, &whole}) {
        s->feed(all.first(600));
        s->evict(595, 3);
    }
    EXPECT_EQ(difference(session.feed(all.first(60)), whole.feed(all.first(60))), 0);
}

} // namespace
} // namespace ordo
