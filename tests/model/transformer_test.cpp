// SPDX-License-Identifier: MIT
// Compares every choice that a Blueprint offers, without an encoding, with the double-precision oracle.
#include "formats/architecture.h"
#include "tests/model/small_models.h"

#include <cmath>
#include <gtest/gtest.h>

namespace ordo {
namespace {

struct Variant {
    std::string name;
    Blueprint blueprint;
};

Variant variant(std::string name, const std::function<void(Blueprint&)>& change) {
    Variant v{std::move(name), small_blueprint()};
    change(v.blueprint);
    return v;
}

std::vector<Variant> variants() {
    std::vector<Variant> all;
    for (const Architecture& a : architectures())
        if (a.make().encoder.empty())
            all.push_back({std::string(a.name), shrunk(a.make())}); // the others are in encoder_test.cpp
    all.push_back(variant("grouped", [](Blueprint& b) { b.n_kv_heads = 2; }));
    all.push_back(variant("one_kv_head", [](Blueprint& b) { b.n_kv_heads = 1; }));
    all.push_back(variant("one_head", [](Blueprint& b) { b.n_heads = b.n_kv_heads = 1; }));
    all.push_back(variant("wide_heads", [](Blueprint& b) { b.d_head = 64; }));
    for (const int window : {1, 5, 64, 70, 1000})
        all.push_back(variant("window_" + std::to_string(window), [=](Blueprint& b) { b.window = window; }));
    all.push_back(variant("bidirectional", [](Blueprint& b) { b.mask = Mask::bidirectional; }));
    for (const int window : {1, 2, 9, 64, 131, 1000})
        all.push_back(variant("bidirectional_window_" + std::to_string(window),
                              [=](Blueprint& b) { b.mask = Mask::bidirectional, b.window = window; }));
    all.push_back(variant("no_attention_norm", [](Blueprint& b) { b.attention_norm = false; }));
    all.push_back(variant("score_scale", [](Blueprint& b) { b.score_scale = 1; }));
    all.push_back(variant("embedding_scale", [](Blueprint& b) { b.embedding_scale = std::sqrt(40.0f); }));
    all.push_back(variant("embedding_scale_and_norm", [](Blueprint& b) { // eps is not negligible, so the scale matters
        b.embedding_scale = 0.1f, b.embedding_norm = true, b.norm_eps = 0.1f;
    }));
    // Caps small enough to change most scores and logits.
    all.push_back(variant("attention_softcap", [](Blueprint& b) { b.attention_softcap = 0.5f, b.score_scale = 1; }));
    all.push_back(variant("final_softcap", [](Blueprint& b) { b.final_softcap = 1.5f; }));
    all.push_back(variant("own_head", [](Blueprint& b) { b.tied_head = false; }));
    all.push_back(variant("post_rms", [](Blueprint& b) { b.norm_place = NormPlace::post; }));
    all.push_back(variant("parallel_rms", [](Blueprint& b) { b.norm_place = NormPlace::parallel; }));
    all.push_back(variant("no_final_norm", [](Blueprint& b) { b.final_norm = false; }));
    all.push_back(variant("embedding_norm", [](Blueprint& b) { b.embedding_norm = true; }));
    all.push_back(variant("attention_bias", [](Blueprint& b) { b.attention_bias(true); }));
    all.push_back(variant("ffn_bias", [](Blueprint& b) { b.ffn_bias = true; }));
    all.push_back(variant("large_eps", [](Blueprint& b) { b.norm_eps = 0.1f; }));
    for (const Activation f :
         {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::relu2})
        for (const bool gated : {false, true})
            all.push_back(variant("activation_" + std::to_string(static_cast<int>(f)) + (gated ? "_gated" : ""),
                                  [=](Blueprint& b) { b.activation = f, b.gated = gated; }));
    return all;
}

class Transformers : public ::testing::TestWithParam<Variant> {};

constexpr int slab_tokens = 85; // longer than a slab of keys, and not a multiple of any block size

TEST_P(Transformers, AgreeWithTheOracleChunkByChunk) {
    const Blueprint& b = GetParam().blueprint;
    const Model model = random_model(b, "none", 1);
    const reference::Tensors tensors = tensors_of(model);
    const reference::Oracles nothing("none", b.dims(), tensors);
    const reference::Transformer oracle(b, tensors, nothing);
    reference::Input in;
    in.tokens = random_tokens(slab_tokens, b.vocab_size, 2);
    in.positions.assign(slab_tokens, 0);
    const Rows expected = to_rows(oracle.logits(in));
    // If the logits were all equal, agreement would prove nothing.
    const auto [least, most] = std::minmax_element(expected.back().begin(), expected.back().end());
    ASSERT_GT(*most - *least, 1);
    for (const int chunk : {1, 7, 24, 64, slab_tokens})
        EXPECT_LE(difference(logits_of(model, in.tokens, chunk), expected), 5e-5) << chunk;
}

TEST_P(Transformers, FeedGivesTheLogitsAfterTheLastToken) {
    const Blueprint& b = GetParam().blueprint;
    const Model model = random_model(b, "none", 3);
    const std::vector<Token> tokens = random_tokens(30, b.vocab_size, 4);
    Session session(model, {slab_tokens, 11});
    const std::span<const float> last = session.feed(tokens);
    EXPECT_EQ(session.size(), 30);
    EXPECT_LE(difference(last, logits_of(model, tokens, 11).back()), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Variants, Transformers, ::testing::ValuesIn(variants()),
                         [](const auto& v) { return v.param.name; });

// With a large vocabulary the head computes a few rows at a time. The rows must arrive in order.
TEST(TransformerHead, LargeVocabulariesComeInParts) {
    Blueprint b = small_blueprint();
    b.vocab_size = 100000; // ten rows at a time
    b.d_model = 8;
    const Model model = random_model(b, "none", 5);
    const std::vector<Token> tokens = random_tokens(25, b.vocab_size, 6);
    Session session(model, {25, 25});
    std::vector<int> firsts;
    session.feed_all(tokens, TokenRows{}, [&](int first, View rows) {
        firsts.push_back(first);
        EXPECT_EQ(rows.cols, b.vocab_size);
    });
    EXPECT_EQ(firsts, (std::vector<int>{0, 10, 20}));
    session.rewind(0);
    const Rows all = logits_of(session, tokens);
    Session single(model, {25});
    for (std::size_t i = 0; i < tokens.size(); ++i)
        EXPECT_LE(difference(single.feed({&tokens[i], 1}), all[i]), 1e-4) << i;
}

} // namespace
} // namespace ordo
