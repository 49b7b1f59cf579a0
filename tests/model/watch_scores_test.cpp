// SPDX-License-Identifier: MIT
// Scores before and after the bias, as an observer sees them.
#include "tests/model/small_models.h"

#include <gtest/gtest.h>
#include <mutex>

namespace ordo {
namespace {

struct Seen {
    std::map<std::pair<int, int>, std::vector<float>> before, after, weights; // [layer * 8 + head, query]
    std::mutex guard;

    static void put(std::vector<float>& row, int first, std::span<const float> some) {
        row.resize(std::max(row.size(), static_cast<std::size_t>(first) + some.size()), -HUGE_VALF);
        std::copy(some.begin(), some.end(), row.begin() + first);
    }
    Watch watch(bool with_weights) {
        Watch w;
        w.scores = [this](int layer, int head, int query, int first, std::span<const float> unbiased,
                          std::span<const float> biased) {
            const std::lock_guard lock(guard);
            EXPECT_EQ(unbiased.size(), biased.size());
            put(before[{layer * 8 + head, query}], first, unbiased);
            put(after[{layer * 8 + head, query}], first, biased);
        };
        if (with_weights)
            w.weights = [this](int layer, int head, int query, int first, std::span<const float> some) {
                const std::lock_guard lock(guard);
                put(weights[{layer * 8 + head, query}], first, some);
            };
        return w;
    }
};

std::vector<float> logits_seen(const Model& model, std::span<const Token> tokens, const Watch& watch) {
    Session session(model, {static_cast<int>(tokens.size()), 64});
    session.watch(watch);
    session.feed(tokens.first(tokens.size() - 2));
    session.feed(tokens[tokens.size() - 2]);
    const std::span<const float> logits = session.feed(tokens.back());
    return {logits.begin(), logits.end()};
}

// Press et al. 2022: of 4 heads, head h lowers a score by 2^(-8 (h + 1) / 4) for each token of distance. 1,100 tokens
// are more than one span of keys.
TEST(WatchingScores, TheBiasIsTheDifference) {
    Blueprint b = small_blueprint();
    b.context = 1100;
    const Model alibi = random_model(b, "alibi", 31), none = random_model(b, "none", 31);
    for (const int length : {40, 1100}) {
        const std::vector<Token> tokens = random_tokens(length, b.vocab_size, 32);
        Seen seen, plain;
        logits_seen(alibi, tokens, seen.watch(false));
        logits_seen(none, tokens, plain.watch(false));
        ASSERT_EQ(seen.before.size(), static_cast<std::size_t>(8 * length));
        for (const auto& [key, before] : seen.before) {
            const auto& [head, query] = key;
            ASSERT_EQ(before.size(), static_cast<std::size_t>(query) + 1);
            const double slope = std::pow(2.0, -2.0 * (head % 8 + 1));
            for (int i = 0; i <= query; ++i) {
                const auto at = static_cast<std::size_t>(i);
                ASSERT_NEAR(seen.after[key][at] - before[at], -slope * (query - i), 2e-5 * length) << head << ' ' << i;
            }
            if (head < 8) { // of layer 0, whose input the bias has not reached
                EXPECT_LE(difference(before, plain.before[key]), 1e-6);
                EXPECT_EQ(plain.before[key], plain.after[key]);
            }
        }
    }
}

TEST(WatchingScores, TheirSoftmaxIsTheWeightsAndNoLogitChanges) {
    for (const char* spec : {"rope", "t5", "cope", "forget"})
        for (const bool with_weights : {false, true}) {
            Blueprint b = small_blueprint();
            b.context = 1100;
            b.n_layers = 1;
            const Model model = random_model(b, spec, 33);
            const std::vector<Token> tokens = random_tokens(1100, b.vocab_size, 34);
            Seen seen;
            EXPECT_EQ(logits_seen(model, tokens, seen.watch(with_weights)), logits_seen(model, tokens, {})) << spec;
            EXPECT_EQ(seen.after.size(), static_cast<std::size_t>(4 * 1100));
            for (const auto& [key, weights] : seen.weights) {
                const std::vector<float>& scores = seen.after[key];
                ASSERT_EQ(scores.size(), weights.size());
                double sum = 0;
                for (const float score : scores) sum += std::exp(score);
                for (std::size_t i = 0; i < scores.size(); i += 13)
                    ASSERT_NEAR(weights[i], std::exp(scores[i]) / sum, 1e-5) << spec << key.second;
            }
        }
}

} // namespace
} // namespace ordo
