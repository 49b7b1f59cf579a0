// SPDX-License-Identifier: MIT
// Training many small models at once: the same numbers as through BLAS, the same bits on any number of threads, and the
// limits of a layer without position.
#include "core/parallel.h"
#include "core/random.h"
#include "encoding/base/registry.h"
#include "tests/lab/has.h"
#include "tools/lab/trained/word_questions.h"
#include "training/network.h"

#include <array>
#include <atomic>
#include <set>

namespace ordo::lab {
namespace {

Meter silent_meter() {
    return {1, "", [](const std::string&) {}};
}

std::vector<std::string> all_specs() {
    std::vector<std::string> specs;
    for (const EncodingInfo* info : registered_encodings()) specs.emplace_back(info->name);
    return specs;
}

class LabSmallModels : public testing::Test {
protected:
    void SetUp() override { set_threads(1); }
    void TearDown() override { set_threads(threads_); }
    int threads_ = thread_count();
};

// Logits of two seeds of every encoding after a few steps, trained at once.
std::vector<std::vector<float>> trained_logits(int threads) {
    set_threads(threads);
    const std::vector<std::string> specs = all_specs();
    const Recipe r = chase_recipe(2, 3);
    Meter meter = silent_meter();
    std::vector<std::vector<float>> out(2 * specs.size());
    side_by_side(static_cast<int>(out.size()), [&](int i) {
        const Model model =
            small_model(r, specs[static_cast<std::size_t>(i) / 2], 1 + static_cast<std::uint64_t>(i % 2), meter);
        Session session = small_session(model, r.length);
        const std::span<const float> logits = session.feed(std::vector<Token>{0, 1, 11, 2, 12});
        out[i].assign(logits.begin(), logits.end());
    });
    return out;
}

TEST_F(LabSmallModels, SameBitsOnAnyNumberOfThreads) {
    const auto one = trained_logits(1);
    EXPECT_NE(one[0], one[1]); // different seeds
    EXPECT_NE(one[0], one[2]); // different encodings
    for (const int threads : {2, 3, 8}) EXPECT_EQ(trained_logits(threads), one) << threads;
}

TEST_F(LabSmallModels, LearnsTheCorpusByHeart) {
    const WordCorpus corpus = built_in_corpus();
    const Prompts prompts = prompts_of(corpus);
    Meter meter = silent_meter();
    const Recipe r = corpus_recipe(corpus, 150);
    const Answers a = answers_of(corpus, prompts, small_model(r, "rope", 1, meter));
    const double by_heart = answers_of(corpus, prompts).loss; // the lower bound for any model
    EXPECT_LT(a.loss, by_heart + 0.05);
    EXPECT_GT(a.loss, by_heart - 1e-3);
    EXPECT_GT(a.food_in_place, 0.9);
    EXPECT_LT(a.food_next, 0.01);
}

// One layer without position sees a bag of words. It cannot distinguish the two orders, and each right answer costs a
// wrong one.
TEST_F(LabSmallModels, OneLayerWithoutPositionIsABagOfWords) {
    Meter meter = silent_meter();
    int silent = 0;
    for (const std::string& spec : all_specs()) {
        const Recipe one = chase_recipe(1, 20), two = chase_recipe(2, 20);
        const Chase c1 = ask_chase(small_model(one, spec, 4, meter), 4),
                    c2 = ask_chase(small_model(two, spec, 4, meter), 4);
        EXPECT_GT(c2.change, 1e-5) << spec; // the mask reveals the order
        if (!says_nothing_of_position(spec, one.trunk.dims())) {
            EXPECT_GT(c1.change, 1e-5) << spec;
            continue;
        }
        ++silent;
        EXPECT_LT(c1.change, 1e-6) << spec;
        EXPECT_EQ(c1.accuracy, 0.5) << spec;
    }
    EXPECT_GE(silent, 1);
}

TEST_F(LabSmallModels, WhatSaysNothingOfPosition) {
    const Dims dims = chase_recipe(1, 1).trunk.dims();
    for (const char* spec : {"none", "segment", "log-scale", "abacus"})
        EXPECT_TRUE(says_nothing_of_position(spec, dims)) << spec;
    for (const char* spec :
         {"rope", "alibi", "sinusoidal", "learned", "rotate-stretch", "segment+learned", "segment+alibi"})
        EXPECT_FALSE(says_nothing_of_position(spec, dims)) << spec;
}

// The same tokens in other segments: an encoding of segments learns something else, and others do not.
TEST_F(LabSmallModels, SegmentsReachTheTraining) {
    Meter meter = silent_meter();
    const auto logits = [&](const char* spec, bool segments) {
        Recipe r = chase_recipe(1, 3);
        if (segments)
            r.segments = [](std::uint64_t, std::uint64_t number, std::span<int> of_one) {
                of_one[1] = static_cast<int>(number % 2);
            };
        const Model model = small_model(r, spec, 1, meter);
        Session session = small_session(model, r.length);
        const std::span<const float> last = session.feed(std::vector<Token>{0, 1, 11});
        return std::vector<float>(last.begin(), last.end());
    };
    EXPECT_NE(logits("segment", true), logits("segment", false));
    EXPECT_EQ(logits("rope", true), logits("rope", false));
}

// Sentences "A chases B hunter A" or "A chases B prey B", of the pairs that are not held out, in both orders.
TEST_F(LabSmallModels, ChasesInTraining) {
    const Recipe r = chase_recipe(1, 1);
    const auto length = static_cast<std::size_t>(r.length);
    std::vector<Token> tokens(static_cast<std::size_t>(r.batch) * length), targets = tokens;
    std::set<std::array<Token, 3>> seen;
    for (int step = 0; step < 60; ++step) {
        r.draw(2, step, tokens, targets);
        for (std::size_t i = 0; i < tokens.size(); i += length) {
            const Token first = tokens[i + 1], second = tokens[i + 3], question = tokens[i + 4];
            ASSERT_EQ(tokens[i], 0);
            ASSERT_EQ(tokens[i + 2], 11);
            ASSERT_TRUE(question == 12 || question == 13);
            ASSERT_EQ(targets[i + 4], question == 12 ? first : second);
            for (std::size_t j = 0; j < 4; ++j) ASSERT_EQ(targets[i + j], tokens[i + j + 1]);
            seen.insert({first, second, question});
        }
    }
    EXPECT_EQ(seen.size(), 4u * (45 - chase_kept));
    for (const auto& [first, second, question] : seen) EXPECT_TRUE(seen.contains({second, first, question}));
}

TEST_F(LabSmallModels, ThrowsWhatABodyThrew) {
    set_threads(3);
    std::atomic<int> done = 0;
    const auto body = [&](int i) {
        if (i == 2 || i == 5) throw Error(ErrorCode::failure, std::to_string(i));
        ++done;
    };
    EXPECT_EQ(error_of([&] { side_by_side(8, body); }), "2");
    EXPECT_EQ(done, 6);
}

} // namespace
} // namespace ordo::lab
