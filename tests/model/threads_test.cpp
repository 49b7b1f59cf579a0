// SPDX-License-Identifier: MIT
// One model used by many threads. The test names contain Thread, which selects them for the thread sanitizer.
#include "core/parallel.h"
#include "tests/model/small_models.h"

#include <gtest/gtest.h>
#include <thread>

namespace ordo {
namespace {

Model shared_model(const std::string& encoding = "rope") {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    b.n_kv_heads = 2;
    return random_model(b, encoding, 21);
}

std::vector<float> run(const Model& model, std::uint64_t seed) {
    const std::vector<Token> tokens = random_tokens(50, byte_vocabulary, seed);
    Session session(model, {96, 16});
    session.feed(std::span(tokens).first(40));
    for (std::size_t i = 40; i < 49; ++i) session.feed({&tokens[i], 1});
    const std::span<const float> last = session.feed({&tokens[49], 1});
    return {last.begin(), last.end()};
}

TEST(SessionThreads, EightThreadsShareOneModel) {
    for (const std::string encoding : {"rope", "alibi", "sinusoidal"}) {
        const Model model = shared_model(encoding);
        std::vector<std::vector<float>> alone(8), together(8);
        for (std::size_t i = 0; i < 8; ++i) alone[i] = run(model, i);
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < 8; ++i)
            threads.emplace_back([&, i] {
                set_threads(2); // for this thread alone
                together[i] = run(model, i);
            });
        for (std::thread& thread : threads) thread.join();
        for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(together[i], alone[i]) << encoding;
    }
}

TEST(SessionThreads, ASessionMayMoveBetweenThreads) {
    const Model model = shared_model();
    const std::vector<Token> tokens = random_tokens(30, byte_vocabulary, 3);
    Session session(model);
    std::vector<float> moved;
    for (const Token& token : tokens)
        std::thread([&] {
            const std::span<const float> logits = session.feed({&token, 1});
            moved.assign(logits.begin(), logits.end());
        }).join();
    Session stayed(model);
    std::span<const float> last;
    for (const Token& token : tokens) last = stayed.feed({&token, 1});
    EXPECT_EQ(moved, std::vector<float>(last.begin(), last.end()));
}

TEST(SessionThreads, GenerationInManyThreadsIsTheSame) {
    const Model model = shared_model();
    GenerateOptions options;
    options.max_tokens = 20;
    const std::string alone = generate(model, "once", options).text;
    std::vector<std::string> texts(8);
    std::vector<std::thread> threads;
    for (std::string& text : texts) threads.emplace_back([&] { text = generate(model, "once", options).text; });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(texts, std::vector<std::string>(8, alone));
}

// Inside the caller's parallel region every session computes on its own thread.
TEST(SessionThreads, SessionsInsideAParallelRegionOfTheCaller) {
    const Model model = shared_model();
    std::vector<std::vector<float>> alone(4), together(4);
    for (std::size_t i = 0; i < 4; ++i) alone[i] = run(model, i);
    parallel_for(4, 1, [&](std::ptrdiff_t i) { together[i] = run(model, static_cast<std::uint64_t>(i)); });
    EXPECT_EQ(together, alone);
}

// A session created with few threads runs with more, and vice versa.
TEST(SessionThreads, TheNumberOfThreadsMayChangeAfterwards) {
    const Model model = shared_model();
    const std::vector<Token> tokens = random_tokens(90, byte_vocabulary, 5);
    const int before = thread_count();
    set_threads(1);
    Session few(model, {96, 45});
    set_threads(4);
    Session many(model, {96, 45});
    const Rows a = logits_of(few, tokens);
    set_threads(2);
    const Rows b = logits_of(many, tokens);
    set_threads(before);
    EXPECT_EQ(difference(a, b), 0);
}

// Feed-forward widths above 384 that are not multiples of 8.
TEST(SessionThreads, SameBitsOnAnyNumberOfThreads) {
    const detail::Restless restless;
    const int before = thread_count();
    for (const int d_ff : {500, 683, 1365}) {
        Blueprint b = small_blueprint();
        b.d_ff = d_ff;
        const Model model = random_model(b, "rope", 31);
        const std::vector<Token> tokens = random_tokens(90, b.vocab_size, 32);
        Rows one;
        for (const int threads : {1, 2, 3, 4, 8}) {
            set_threads(threads);
            Session session(model, {96, 45});
            const Rows rows = logits_of(session, tokens);
            if (threads == 1) one = rows;
            EXPECT_EQ(difference(rows, one), 0) << "d_ff " << d_ff << " on " << threads << " threads";
        }
    }
    set_threads(before);
}

// Many threads of a host, each with a session and more OpenMP threads than processors. Teams share the processors, so
// that most sessions run on the calling thread (tests/core/team_test.cpp counts them).
TEST(SessionThreads, ManySessionsWithManyThreadsEach) {
    const Model model = shared_model();
    const std::vector<float> alone = run(model, 7);
    std::vector<std::vector<float>> together(32);
    std::vector<std::thread> threads;
    for (std::vector<float>& logits : together)
        threads.emplace_back([&] {
            set_threads(8);
            logits = run(model, 7);
        });
    for (std::thread& thread : threads) thread.join();
    for (const std::vector<float>& logits : together) EXPECT_EQ(logits, alone);
}

} // namespace
} // namespace ordo
