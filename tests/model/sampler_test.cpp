// SPDX-License-Identifier: MIT
#include "core/random.h"
#include "ordo.h"
#include "tests/expect_error.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace ordo {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

// Known answers of Random123, the reference implementation by Philox's authors (tests/kat_vectors).
TEST(Philox, KnownAnswers) {
    using Block = std::array<std::uint32_t, 4>;
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
              (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformAndNormalHaveTheirMoments) {
    const Random random(5, 9);
    constexpr int n = 200000;
    double sum = 0, squares = 0, normal = 0, normal_squares = 0;
    for (std::uint64_t i = 0; i < n; ++i) {
        const double u = random.uniform(i), z = random.normal(i);
        ASSERT_TRUE(u >= 0 && u < 1);
        sum += u / n;
        squares += u * u / n;
        normal += z / n;
        normal_squares += z * z / n;
    }
    EXPECT_NEAR(sum, 0.5, 0.005); // five standard errors are 0.0032
    EXPECT_NEAR(squares, 1.0 / 3, 0.005);
    EXPECT_NEAR(normal, 0, 0.012);
    EXPECT_NEAR(normal_squares, 1, 0.016);
}

Sampling plain() {
    Sampling s;
    s.temperature = 1;
    s.top_k = 0;
    s.top_p = 1;
    s.min_p = 0;
    s.seed = 11;
    return s;
}

std::vector<float> random_logits(int n, std::uint64_t seed) {
    std::vector<float> logits;
    for (int i = 0; i < n; ++i)
        logits.push_back(static_cast<float>(2 * Random(seed, 3).normal(static_cast<std::uint64_t>(i))));
    return logits;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature) {
    std::vector<double> p;
    for (const float l : logits) p.push_back(std::exp(static_cast<double>(l) / temperature));
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& x : p) x /= total;
    return p;
}

std::map<Token, int> draw(const Sampling& s, const std::vector<float>& logits, int n,
                          const std::vector<Token>& history = {}) {
    Sampler sampler(s, static_cast<int>(logits.size()));
    std::map<Token, int> counts;
    for (int i = 0; i < n; ++i) ++counts[sampler.sample(logits, history, static_cast<std::uint64_t>(i))];
    return counts;
}

std::set<Token> drawn(const Sampling& s, const std::vector<float>& logits, const std::vector<Token>& history = {}) {
    std::set<Token> tokens;
    for (const auto& [token, count] : draw(s, logits, 20000, history)) tokens.insert(token);
    return tokens;
}

// Tokens from the most to the least probable, ties by id.
std::vector<Token> ranking(const std::vector<float>& logits) {
    std::vector<Token> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return logits[a] > logits[b]; });
    return order;
}

TEST(Sampler, DrawsFromTheSoftmaxAtAnyTemperature) {
    const std::vector<float> logits = random_logits(12, 1);
    constexpr int n = 100000;
    for (const float temperature : {0.5f, 1.0f, 2.0f}) {
        Sampling s = plain();
        s.temperature = temperature;
        const std::vector<double> p = softmax(logits, static_cast<double>(temperature));
        double chi = 0;
        int cells = 0;
        std::map<Token, int> counts = draw(s, logits, n);
        for (std::size_t i = 0; i < p.size(); ++i) {
            if (p[i] * n < 5) continue;
            const double d = counts[static_cast<Token>(i)] - p[i] * n;
            chi += d * d / (p[i] * n);
            ++cells;
        }
        EXPECT_LT(chi, cells + 5 * std::sqrt(2.0 * cells)); // mean and five deviations of chi-squared
    }
}

TEST(Sampler, TheNthDrawOfASeedIsTheSameWhateverCameBefore) {
    const std::vector<float> logits = random_logits(50, 2);
    Sampler a(plain(), 50), b(plain(), 50);
    std::vector<Token> forwards, backwards(100);
    for (std::uint64_t i = 0; i < 100; ++i) forwards.push_back(a.sample(logits, {}, i));
    for (std::uint64_t i = 100; i-- > 0;) backwards[i] = b.sample(logits, {}, i);
    EXPECT_EQ(forwards, backwards);
    Sampling other = plain();
    other.seed = 12;
    Sampler c(other, 50);
    std::vector<Token> different;
    for (std::uint64_t i = 0; i < 100; ++i) different.push_back(c.sample(logits, {}, i));
    EXPECT_NE(forwards, different);
}

TEST(Sampler, TopKKeepsTheKBest) {
    const std::vector<float> logits = random_logits(8, 3);
    const std::vector<Token> order = ranking(logits);
    for (int k = 1; k <= 8; ++k) {
        Sampling s = plain();
        s.temperature = 100; // all kept tokens are about equally likely
        s.top_k = k;
        EXPECT_EQ(drawn(s, logits), std::set<Token>(order.begin(), order.begin() + k));
    }
    Sampling s = plain();
    s.temperature = 100;
    s.top_k = 1000; // more than the vocabulary has
    EXPECT_EQ(drawn(s, logits).size(), 8u);
}

TEST(Sampler, TopKBreaksTiesByTheLowestId) {
    Sampling s = plain();
    s.top_k = 2;
    EXPECT_EQ(drawn(s, {1, 3, 1, 3, 3}), (std::set<Token>{1, 3}));
}

// Brute force over all sets: the smallest whose probability reaches p, and among these the likeliest.
TEST(Sampler, TopPKeepsTheSmallestSetThatReachesP) {
    const std::vector<float> logits = random_logits(8, 4);
    const std::vector<double> probability = softmax(logits, 1);
    for (const float p : {0.01f, 0.3f, 0.5f, 0.8f, 0.95f, 0.9999f}) {
        unsigned best = 0;
        double best_mass = 0;
        int best_size = 9;
        for (unsigned set = 1; set < 256; ++set) {
            double mass = 0;
            int size = 0;
            for (unsigned i = 0; i < 8; ++i)
                if (set >> i & 1) mass += probability[i], ++size;
            if (mass < static_cast<double>(p)) continue;
            if (size < best_size || (size == best_size && mass > best_mass))
                best = set, best_mass = mass, best_size = size;
        }
        std::set<Token> expected;
        for (unsigned i = 0; i < 8; ++i)
            if (best >> i & 1) expected.insert(static_cast<Token>(i));
        Sampling s = plain();
        s.temperature = 100;
        s.top_p = p;
        EXPECT_EQ(drawn(s, logits), expected) << p;
    }
}

TEST(Sampler, MinPKeepsWhatIsLikelyEnoughBesideTheBest) {
    const std::vector<float> logits = random_logits(8, 5);
    const std::vector<double> probability = softmax(logits, 1);
    const double top = *std::max_element(probability.begin(), probability.end());
    for (const float p : {0.001f, 0.05f, 0.3f, 1.0f}) {
        std::set<Token> expected;
        for (std::size_t i = 0; i < 8; ++i)
            if (probability[i] >= static_cast<double>(p) * top) expected.insert(static_cast<Token>(i));
        Sampling s = plain();
        s.temperature = 100;
        s.min_p = p;
        EXPECT_EQ(drawn(s, logits), expected) << p;
    }
}

// llama.cpp's order: each filter works on the output of the filters before it, at temperature 1.
TEST(Sampler, FiltersComeInOrderAndBeforeTheTemperature) {
    // Probabilities 0.4, 0.3, 0.2, 0.1. Top-k 2 leaves 4/7 and 3/7 after renormalisation, and top-p 0.5 then keeps one.
    const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.2f), std::log(0.1f)};
    Sampling s = plain();
    s.top_p = 0.5f;
    s.temperature = 100;
    EXPECT_EQ(drawn(s, logits), (std::set<Token>{0, 1}));
    s.top_k = 2;
    EXPECT_EQ(drawn(s, logits), (std::set<Token>{0}));
    s = plain();
    s.temperature = 1000; // nearly uniform, but min-p comes first: 0.1 < 0.3 * 0.4
    s.min_p = 0.3f;
    EXPECT_EQ(drawn(s, logits), (std::set<Token>{0, 1, 2}));
}

TEST(Sampler, TemperatureZeroTakesTheBestAndTheLowestOfEquals) {
    Sampling s = plain();
    s.temperature = 0;
    EXPECT_EQ(drawn(s, {0, 5, -1, 5}), (std::set<Token>{1}));
    EXPECT_EQ(drawn(s, {-inf, -inf, -7}), (std::set<Token>{2}));
}

TEST(Sampler, RepetitionIsPenalisedOnceAndOnlyInTheWindow) {
    Sampling s = plain();
    s.temperature = 0;
    s.repeat_penalty = 2;
    s.repeat_last_n = 2;
    // 6 / 2 = 3 < 4 once; twice it would be 1.5 < 2.
    EXPECT_EQ(drawn(s, {6, 4, 2}, {0}), (std::set<Token>{1}));
    EXPECT_EQ(drawn(s, {6, 2, 2.5f}, {0, 0}), (std::set<Token>{0}));
    EXPECT_EQ(drawn(s, {6, 4, 2}, {0, 2, 2}), (std::set<Token>{0})); // token 0 is three tokens back
    s.repeat_last_n = -1;
    EXPECT_EQ(drawn(s, {6, 4, 2}, {0, 2, 2}), (std::set<Token>{1}));
    s.repeat_last_n = 0;
    EXPECT_EQ(drawn(s, {6, 4, 2}, {0}), (std::set<Token>{0}));
    s.repeat_last_n = -1;
    EXPECT_EQ(drawn(s, {-1, -1.5f}, {0}), (std::set<Token>{1}));         // a negative logit is multiplied: -2
    EXPECT_EQ(drawn(s, {6, 4}, {-5, 1000000, 0}), (std::set<Token>{1})); // unknown tokens are ignored
}

TEST(Sampler, WhatIsForbiddenIsNeverDrawn) {
    Sampling s = plain();
    s.temperature = 50;
    EXPECT_EQ(drawn(s, {-inf, 1, -inf, 2}), (std::set<Token>{1, 3}));
    s = Sampling();
    EXPECT_EQ(drawn(s, {-inf, 1, -inf, 1.1f}), (std::set<Token>{1, 3}));
}

TEST(Sampler, RefusesValuesOutOfRangeByName) {
    const float nan = std::nanf("");
    const auto refused = [](const std::function<void(Sampling&)>& change, const char* name) {
        Sampling s;
        change(s);
        try {
            Sampler sampler(s, 10);
            FAIL() << name;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, ErrorCode::usage);
            EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
        }
    };
    for (const float v : {-1.0f, nan, inf}) refused([v](Sampling& s) { s.temperature = v; }, "temperature");
    refused([](Sampling& s) { s.top_k = -3; }, "top-k");
    for (const float v : {0.0f, -1.0f, 1.5f, nan}) refused([v](Sampling& s) { s.top_p = v; }, "top-p");
    for (const float v : {-0.1f, 1.5f, nan}) refused([v](Sampling& s) { s.min_p = v; }, "min-p");
    for (const float v : {0.0f, -1.0f, inf, nan}) refused([v](Sampling& s) { s.repeat_penalty = v; }, "repeat penalty");
    refused([](Sampling& s) { s.repeat_last_n = -2; }, "repeat-last-n");
    EXPECT_EQ(code_of([] { Sampler sampler(Sampling(), 0); }), ErrorCode::usage);
}

TEST(Sampler, RefusesLogitsThatAreNotFinite) {
    for (const float temperature : {0.0f, 1.0f}) {
        Sampling s = plain();
        s.temperature = temperature;
        Sampler sampler(s, 3);
        for (const float bad : {std::nanf(""), inf})
            EXPECT_EQ(code_of([&] { sampler.sample(std::vector<float>{0, bad, 1}, {}, 0); }), ErrorCode::model);
        EXPECT_EQ(code_of([&] { sampler.sample(std::vector<float>{-inf, -inf, -inf}, {}, 0); }), ErrorCode::model);
        EXPECT_EQ(code_of([&] { sampler.sample(std::vector<float>{0, 1}, {}, 0); }), ErrorCode::usage);
        EXPECT_EQ(sampler.sample(std::vector<float>{-inf, 1, -inf}, {}, 0), 1); // the sampler still works afterwards
    }
}

} // namespace
} // namespace ordo
