// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "tests/expect_error.h"
#include "tests/model/small_models.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ordo {
namespace {

double row_difference(std::span<const float> a, const float* b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - b[i]));
    return most;
}

struct BatchCase {
    const char* encoding;
    WeightType type;
};

class BatchOf : public testing::TestWithParam<BatchCase> {};

// Compares each of several sequences of different lengths with a session that computes it alone.
TEST_P(BatchOf, GivesWhatEachSessionWouldGiveAlone) {
    constexpr int n = 5;
    const Blueprint blueprint = small_blueprint();
    const Model model = random_model(blueprint, GetParam().encoding, 5, GetParam().type);
    std::vector<Session> together, alone;
    std::vector<Session*> members;
    for (int i = 0; i < n; ++i) {
        together.emplace_back(model);
        alone.emplace_back(model);
        const std::vector<Token> prompt = random_tokens(1 + 3 * i, blueprint.vocab_size, static_cast<std::uint64_t>(i));
        together.back().feed(prompt);
        alone.back().feed(prompt);
    }
    for (Session& session : together) members.push_back(&session);
    Batch batch(model, n);
    for (int step = 0; step < 6; ++step) {
        const std::vector<Token> tokens =
            random_tokens(n, blueprint.vocab_size, 100 + static_cast<std::uint64_t>(step));
        const int count = step < 4 ? n : 3; // sessions may leave the batch
        const View logits = batch.feed(std::span(members).first(count), std::span(tokens).first(count));
        ASSERT_EQ(logits.rows, count);
        for (int i = 0; i < count; ++i) {
            const auto at = static_cast<std::size_t>(i);
            EXPECT_LT(row_difference(alone[at].feed({&tokens[at], 1}), logits.row(i)), 1e-4)
                << i << " at step " << step;
            EXPECT_EQ(together[at].size(), alone[at].size());
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Encodings, BatchOf,
                         testing::Values(BatchCase{"none", WeightType::f32}, BatchCase{"rope", WeightType::f32},
                                         BatchCase{"alibi", WeightType::q8_0}, BatchCase{"sinusoidal", WeightType::f16},
                                         BatchCase{"learned", WeightType::bf16}, BatchCase{"rope", WeightType::q4_0}),
                         [](const auto& test) {
                             return std::string(test.param.encoding) + "_" + std::string(name_of(test.param.type));
                         });

TEST(Batches, TheSameBitsOnAnyNumberOfThreads) {
    const int before = thread_count();
    const Model model = random_model(small_blueprint(), "rope", 5);
    std::vector<std::vector<float>> found;
    for (const int threads : {1, 2, 3, 8}) {
        set_threads(threads);
        std::vector<Session> sessions;
        std::vector<Session*> members;
        for (int i = 0; i < 4; ++i) sessions.emplace_back(model);
        for (Session& session : sessions) members.push_back(&session);
        Batch batch(model, 4);
        View logits{};
        for (int step = 0; step < 4; ++step)
            logits = batch.feed(members, random_tokens(4, model.vocab_size(), static_cast<std::uint64_t>(step)));
        auto& rows = found.emplace_back();
        for (int i = 0; i < 4; ++i) rows.insert(rows.end(), logits.row(i), logits.row(i) + logits.cols);
        EXPECT_EQ(found.back(), found.front()) << threads << " threads";
    }
    set_threads(before);
}

// An f16 cache rounds keys and values once, by at most 2^-11 of each value. A q8_0 cache rounds them, and the queries,
// by 1/254 of the largest of 32 values. A bf16 cache rounds them by 2^-9, and where pairs are multiplied the queries
// and the attention weights too. Nothing else differs: neither the chunks nor the number of threads change a
// bit.
TEST(SmallCaches, RoundKeysAndValuesAndNothingElseOnAnyNumberOfThreads) {
    const int before = thread_count();
    for (const auto& [type, most] : {std::pair{CacheType::f16, 2e-2}, {CacheType::bf16, 1e-1}, {CacheType::q8_0, 1e-1}})
        for (const char* encoding :
             {"rope", "alibi", "learned", "shaw", "transformer-xl", "deberta", "forget", "cope", "sink"}) {
            const Model model = random_model(small_blueprint(), encoding, 6);
            const std::vector<Token> tokens = random_tokens(30, model.vocab_size(), 1);
            SessionOptions small;
            small.cache = type;
            set_threads(1);
            Session at_once(model, small), floats(model);
            const std::span<const float> whole = at_once.feed(tokens);
            set_threads(3);
            Session step_by_step(model, small);
            std::span<const float> last;
            for (const Token& token : tokens) last = step_by_step.feed({&token, 1});
            EXPECT_EQ(row_difference(last, whole.data()), 0) << name_of(type) << ' ' << encoding;
            const double rounding = row_difference(floats.feed(tokens), whole.data());
            EXPECT_GT(rounding, 0) << name_of(type) << ' ' << encoding;
            EXPECT_LT(rounding, most) << name_of(type) << ' ' << encoding;
        }
    set_threads(before);
}

TEST(Batches, RefuseWhatDoesNotFitAndChangeNothing) {
    const Model model = random_model(small_blueprint(), "rope", 5), other = random_model(small_blueprint(), "rope", 5);
    SessionOptions short_one;
    short_one.capacity = 2;
    Session a(model), b(model, short_one), stranger(other);
    Batch batch(model, 2);
    Session* both[] = {&a, &b};
    const Token tokens[] = {1, 2};
    batch.feed(both, tokens);
    batch.feed(both, tokens);
    expect_error(ErrorCode::limit, "expected at most 2 tokens", [&] { batch.feed(both, tokens); });
    EXPECT_EQ(a.size(), 2);
    EXPECT_EQ(b.size(), 2);
    Session* twice[] = {&a, &a};
    expect_error(ErrorCode::usage, "session 1 is there twice", [&] { batch.feed(twice, tokens); });
    Session* strangers[] = {&a, &stranger};
    expect_error(ErrorCode::usage, "session 1 is of another model", [&] { batch.feed(strangers, tokens); });
    expect_error(ErrorCode::usage, "found none", [&] { batch.feed({}, {}); });
    expect_error(ErrorCode::usage, "found 1 tokens", [&] { batch.feed(both, std::span(tokens).first(1)); });
    Session c(model);
    Session* three[] = {&a, &b, &c};
    const Token three_tokens[] = {1, 2, 3}, unknown[] = {1, model.vocab_size()};
    expect_error(ErrorCode::limit, "at most 2 sessions", [&] { batch.feed(three, three_tokens); });
    Session* pair[] = {&a, &c};
    expect_error(ErrorCode::limit, "expected an id", [&] { batch.feed(pair, unknown); });
    EXPECT_EQ(a.size(), 2);
    EXPECT_EQ(c.size(), 0);
    expect_error(ErrorCode::usage, "1 or more sessions", [&] { Batch(model, 0); });
    Session* missing[] = {&c, nullptr};
    expect_error(ErrorCode::usage, "session 1: expected one", [&] { batch.feed(missing, tokens); });
    const Session moved = std::move(a);
    expect_error(ErrorCode::usage, "moved from", [&] { batch.feed(both, tokens); });
    Batch moved_batch = std::move(batch);
    expect_error(ErrorCode::usage, "moved from", [&] { batch.feed(std::span(pair).last(1), {tokens, 1}); });
    EXPECT_EQ(moved_batch.feed(std::span(pair).last(1), {tokens, 1}).rows, 1); // no refusal left the session busy
    EXPECT_EQ(c.size(), 1);
}

} // namespace
} // namespace ordo
