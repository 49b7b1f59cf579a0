// SPDX-License-Identifier: MIT
// Known silent errors of engines that read other formats, each of which was a real bug. families_test.cpp tests that
// the checkpoints of tests/families give correct results. These tests show that each error would change them.
#include "tests/formats/family_run.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

using test::difference;
using test::family;
using test::logits_of;

std::vector<Token> tokens_of(const std::string& name, std::size_t i = 1) {
    return test::read_cases(family(name)).at(i).at("tokens").get<std::vector<Token>>();
}

// Loads in f32, because bf16 may round activations too, if the machine multiplies pairs of bf16.
Model load(const std::filesystem::path& folder, LoadOptions options = {}) {
    options.dtype = "f32";
    return Model::load(folder, options);
}

// The change of a family's logits under another encoding.
double change_by(const std::string& name, const std::string& encoding) {
    LoadOptions options;
    options.encoding = encoding;
    options.force_encoding = true;
    const std::vector<Token> tokens = tokens_of(name);
    return difference(logits_of(load(family(name)), tokens), logits_of(load(family(name), options), tokens));
}

std::string with(const std::string& spec, const std::string& from, const std::string& to) {
    const std::size_t at = spec.find(from);
    EXPECT_NE(at, spec.npos) << spec;
    return spec.substr(0, at) + to + spec.substr(at + from.size());
}

std::string encoding_of(const std::string& name) {
    return open_source(family(name)).trained_encodings().spec();
}

TEST(ParityTraps, RotaryPairsAreHalvesOrAdjacentByFamily) {
    for (const std::string name : {"llama", "gpt-neox", "falcon", "qwen3", "phi"})
        EXPECT_NE(encoding_of(name).find("pairing=halves"), std::string::npos) << encoding_of(name);
    for (const std::string name : {"gptj", "cohere", "cohere2"})
        EXPECT_NE(encoding_of(name).find("pairing=adjacent"), std::string::npos) << encoding_of(name);
    EXPECT_GT(change_by("llama", with(encoding_of("llama"), "halves", "adjacent")), 1e-2);
    EXPECT_GT(change_by("gptj", with(encoding_of("gptj"), "adjacent", "halves")), 1e-2);
}

// Angles computed in bf16, or in float for large positions, fail here.
TEST(ParityTraps, RotaryScoresDependOnDistanceFarOut) {
    const Model model = load(family("llama"));
    const std::vector<Token> tokens = tokens_of("llama");
    SessionOptions far;
    far.first_position = 1'000'000;
    EXPECT_LT(difference(logits_of(model, tokens), logits_of(model, tokens, far)), 2e-3);
}

// Keys rotated for a shorter text do not match those of a longer text.
TEST(ParityTraps, DynamicThetaIsOneForAllKeysOfASession) {
    const Model model = load(family("llama-dynamic"));
    const std::vector<Token> tokens = tokens_of("llama-dynamic");
    ASSERT_GT(static_cast<int>(tokens.size()), model.context());
    EXPECT_LT(difference(logits_of(model, tokens), logits_of(model, tokens, {}, 1)), 1e-4);
}

// Six tokens use the short factors and forty the long ones, whatever the capacity of the session, as in the reference
// implementation.
TEST(ParityTraps, LongRopeGoesByTheLengthOfTheTextAndNotOfTheSession) {
    for (const std::string name : {"phi3-longrope", "phi4-mini"}) {
        const Model model = load(family(name));
        for (const test::Json& one : test::read_cases(family(name))) {
            const auto tokens = one.at("tokens").get<std::vector<Token>>();
            for (const int capacity : {0, static_cast<int>(tokens.size())}) {
                Session session(model, {.capacity = capacity});
                const std::span<const float> last = session.feed(tokens);
                test::Gate gate;
                gate.add({last.begin(), last.end()}, one.at("logits").back());
                gate.expect_met();
            }
        }
    }
}

TEST(ParityTraps, AlibiSlopesForHeadsThatAreNoPowerOfTwo) {
    const Blueprint b = open_source(family("bloom")).blueprint;
    ASSERT_EQ(b.n_heads, 12);
    TableRequest request;
    request.part = "slopes";
    const Table slopes = make_encodings("alibi", b.dims()).front()->table(request);
    for (int h = 0; h < 12; ++h) {
        const double exponent = h < 8 ? h + 1 : h - 8 + 0.5; // 2^-1 .. 2^-8, then 2^-0.5, 2^-1.5, 2^-2.5, 2^-3.5
        EXPECT_DOUBLE_EQ(slopes.rows.at(h).at(1), std::exp2(-exponent));
    }
}

TEST(ParityTraps, AlibiDoesNotDependOnWhereATextBegins) {
    const Model model = load(family("bloom"));
    const std::vector<Token> tokens = tokens_of("bloom");
    SessionOptions far;
    far.first_position = 100'000;
    EXPECT_LT(difference(logits_of(model, tokens), logits_of(model, tokens, far)), 1e-4);
}

TEST(ParityTraps, FalconScalesItsAlibiWithTheScores) {
    EXPECT_GT(change_by("falcon-alibi", "alibi"), 1e-2);
}

TEST(ParityTraps, SinusoidsOfXglmLieInHalvesFromPositionTwo) {
    const std::string spec = encoding_of("xglm");
    EXPECT_GT(change_by("xglm", with(spec, "halves", "interleaved")), 1e-2);
    EXPECT_GT(change_by("xglm", with(spec, "tensor2tensor", "paper")), 1e-2);
    EXPECT_GT(change_by("xglm", with(spec, "offset=2", "offset=0")), 1e-2);
    EXPECT_GT(change_by("xglm", "sinusoidal:scale=1,layout=halves,law=tensor2tensor,offset=2"), 1e-2);
}

TEST(ParityTraps, TableOfOptBeginsAtRowTwo) {
    EXPECT_NE(encoding_of("opt").find("offset=2"), std::string::npos);
}

// Distances by T5's own code: 19, 31, 64 and 127 fall into buckets 17, 21, 26 and 31 of a decoder's 32.
TEST(ParityTraps, T5BucketsDifferByDirection) {
    Dims dims{.d_model = 8, .n_heads = 2, .d_head = 4, .n_layers = 1, .context = 128};
    TableRequest request;
    request.part = "buckets";
    request.length = 128;
    const Table causal = make_encodings("t5", dims).front()->table(request);
    for (const auto& [distance, bucket] : std::map<int, int>{{15, 15}, {19, 17}, {31, 21}, {64, 26}, {127, 31}})
        EXPECT_EQ(causal.rows.at(distance).at(1), bucket) << distance;
    dims.mask = Mask::bidirectional;
    const Table both = make_encodings("t5", dims).front()->table(request); // distance, bucket, bucket of a later key
    EXPECT_EQ(both.rows.at(7).at(1), 7);
    EXPECT_EQ(both.rows.at(7).at(2), 16 + 7);
    EXPECT_EQ(both.rows.at(127).at(1), 15);
}

TEST(ParityTraps, NoRopeLayersSaysWhichLayersHaveIt) {
    const std::string spec = encoding_of("smollm3");
    EXPECT_TRUE(spec.starts_with("pattern((rope:") || spec.starts_with("pattern(rope")) << spec;
    EXPECT_TRUE(spec.ends_with("none)") || spec.ends_with("(none))")) << spec;
}

TEST(ParityTraps, EpsilonActivationHeadAndScaleAreTheFilesOwn) {
    const auto blueprint = [](const std::string& name) { return open_source(family(name)).blueprint; };
    EXPECT_FLOAT_EQ(blueprint("llama").norm_eps, 0.02f); // the fixture's; the usual value is 1e-5
    EXPECT_EQ(blueprint("gpt2").activation, Activation::gelu_tanh);
    EXPECT_EQ(blueprint("gpt-neox").activation, Activation::gelu);
    EXPECT_TRUE(blueprint("gpt2").tied_head);
    EXPECT_FALSE(blueprint("llama").tied_head);
    EXPECT_TRUE(blueprint("gptj").head_bias);
    EXPECT_FLOAT_EQ(blueprint("gemma2").layer(0).score_scale, 1 / std::sqrt(24.0f));
    EXPECT_FLOAT_EQ(blueprint("gemma2").embedding_scale, 6);
    EXPECT_EQ(blueprint("gemma2").layer(0).window, 12);
    EXPECT_EQ(blueprint("gemma2").layer(1).window, 0);
}

} // namespace
} // namespace ordo
