// SPDX-License-Identifier: MIT
// Compares models of two stacks with the oracle: an encoder, and layers whose cross-attention attends to the encoder's
// output. Also tests padding.
#include "core/parallel.h"
#include "encoding/base/registry.h"
#include "model/model_file.h"
#include "tests/encoding/accepts.h"
#include "tests/expect_error.h"
#include "tests/model/small_models.h"
#include "tests/temp_dir.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

struct EncoderCase {
    std::string name;
    Blueprint blueprint;
    std::string encoding;
};
void PrintTo(const EncoderCase& c, std::ostream* out) {
    *out << c.name;
}

// The plan of T5's first version: Raffel et al. 2020, arXiv 1910.10683, sections 2.1 and 3.1.
Blueprint like_t5() {
    Blueprint b = small_blueprint();
    b.d_model = 64;
    b.d_head = 12; // the inner width differs from d_model
    b.d_ff = 96;
    b.norm_eps = 1e-6f;
    b.score_scale = 1;
    b.gated = false;
    b.activation = Activation::relu;
    b.head_scale = 1.0f / 8;
    b.n_layers = 3;
    add_encoder(b);
    b.encoder.front().n_layers = 2;
    return b;
}

// The original transformer: Vaswani et al. 2017, arXiv 1706.03762, section 3.1.
Blueprint like_marian() {
    Blueprint b = small_blueprint();
    b.norm = Norm::layer;
    b.norm_bias = b.ffn_bias = b.head_bias = true;
    b.norm_place = NormPlace::post;
    b.attention_bias(true);
    b.gated = b.final_norm = false;
    b.embedding_scale = std::sqrt(40.0f);
    add_encoder(b);
    b.encoder.front().d_ff = 32;
    return b;
}

std::vector<EncoderCase> cases() {
    std::vector<EncoderCase> all = {{"t5", like_t5(), "t5"},
                                    {"marian", like_marian(), "sinusoidal:scale=1,layout=halves"},
                                    {"rope", like_t5(), "rope"},
                                    {"everything_at_once", like_t5(), "learned+t5+forget+sink"}};
    Blueprint b = like_t5(); // T5's later versions: gated, with a separate head
    b.gated = b.encoder.front().gated = true;
    b.activation = b.encoder.front().activation = Activation::gelu_tanh;
    b.tied_head = false;
    b.head_scale = 1;
    b.n_kv_heads = 2;
    all.push_back({"gated_with_fewer_keys", b, "t5:buckets=8,distance=20"});
    b = like_marian();
    b.norm_place = NormPlace::sandwich;
    b.embedding_norm = b.encoder.front().embedding_norm = b.encoder.front().final_norm = true;
    b.encoder.front().n_heads = b.encoder.front().n_kv_heads = 2;
    b.encoder.front().d_head = 14;
    all.push_back({"sandwich_beside_other_heads", b, "alibi"});
    b = like_marian();
    b.pattern = {b, b};
    b.pattern[0].cross_attention = false;
    b.pattern[1].window = 5;
    b.pattern[1].norm_place = NormPlace::pre;
    b.n_layers = 4;
    all.push_back({"every_other_layer", b, "pattern(rope,none)"});
    for (const EncodingInfo* e : registered_encodings()) { // each encoding in both stacks
        std::string name(e->name);
        if (!accepts(name, like_t5().dims(), Mask::bidirectional)) continue;
        std::replace(name.begin(), name.end(), '-', '_');
        all.push_back({"with_" + name, like_t5(), std::string(e->name)});
    }
    return all;
}

class EncoderDecoders : public ::testing::TestWithParam<EncoderCase> {
protected:
    Model model(WeightType type = WeightType::f32) const {
        return random_model(GetParam().blueprint, GetParam().encoding, 61, type);
    }
    // The oracle's logits for an input and the tokens that follow.
    static Rows expected(const Model& m, std::span<const Token> input, std::span<const Token> tokens,
                         std::span<const int> padding = {}) {
        const Blueprint& b = blueprint_of(m);
        const reference::Tensors all = tensors_of(m);
        const reference::Oracles of_decoder(m.encoding(), b.dims(), all);
        EXPECT_TRUE(of_decoder.complete());
        reference::Input out{{tokens.begin(), tokens.end()}, {}, {}};
        for (std::size_t i = 0; i < tokens.size(); ++i) out.positions.push_back(static_cast<int>(i));
        out.memory = encoded_by_oracle(b, m.encoding(), all, input, padding);
        return to_rows(reference::Transformer(b, all, of_decoder).logits(out));
    }
    double tolerance(const Rows& rows) const {
        double most = 0;
        for (const auto& row : rows)
            for (const float x : row) most = std::max(most, std::abs(static_cast<double>(x)));
        return 1e-5 * std::max(most, 1.0);
    }

    const std::vector<Token> input_ = random_tokens(37, 101, 5), tokens_ = random_tokens(30, 101, 6);
};

TEST_P(EncoderDecoders, AgreeWithTheOracleHoweverTheyAreFed) {
    const Model m = model();
    EXPECT_TRUE(m.has_encoder());
    const Rows wanted = expected(m, input_, tokens_);
    for (const int chunk : {256, 7, 1}) {
        Session session(m, {40, chunk});
        EXPECT_EQ(session.encode(input_).rows, 37);
        const Rows found = logits_of(session, tokens_);
        EXPECT_LE(difference(found, wanted), tolerance(wanted)) << chunk;
        session.rewind(11); // the input stays
        const std::vector<Token> rest(tokens_.begin() + 11, tokens_.end());
        const std::span<const float> last = session.feed(rest);
        EXPECT_LE(difference(last, wanted.back()), tolerance(wanted)) << chunk;
    }
    // The logits depend on the input exactly as in the oracle: another input gives other logits.
    const std::vector<Token> other(input_.begin(), input_.begin() + 3);
    Session session(m, {40});
    session.encode(input_);
    session.encode(other);
    EXPECT_LE(difference(logits_of(session, tokens_), expected(m, other, tokens_)), tolerance(wanted));
    EXPECT_GT(difference(expected(m, other, tokens_), wanted), 1e-3);
}

TEST_P(EncoderDecoders, LeaveOutPadding) {
    const Model m = model();
    std::vector<int> padding(input_.size());
    for (const std::size_t i : {0u, 9u, 10u, 36u}) padding[i] = 1;
    Session session(m, {40});
    EXPECT_EQ(session.encode(input_, {{}, {}, padding}).rows, 33);
    const Rows wanted = expected(m, input_, tokens_, padding);
    EXPECT_LE(difference(logits_of(session, tokens_), wanted), tolerance(wanted));
}

TEST_P(EncoderDecoders, AreTheSameInABatchAndOnAnyNumberOfThreads) {
    const Model m = model();
    Session a(m, {40}), b(m, {40});
    Batch batch(m, 2, 40);
    a.encode(input_);
    b.encode(std::span(input_).first(5));
    const std::span<const Token> first(tokens_.data(), 10);
    a.feed(first);
    b.feed(first);
    Session* const both[] = {&a, &b};
    const Token next[] = {tokens_[10], tokens_[10]};
    const View logits = batch.feed(both, next);
    const std::span<const Token> fed(tokens_.data(), 11);
    const Rows one = expected(m, input_, fed), two = expected(m, std::span(input_).first(5), fed);
    EXPECT_LE(difference({logits.row(0), 101}, one.back()), tolerance(one));
    EXPECT_LE(difference({logits.row(1), 101}, two.back()), tolerance(one));

    std::vector<Rows> rows;
    for (const int threads : {1, 3}) {
        const int before = thread_count();
        set_threads(threads);
        Session session(m, {40});
        session.encode(input_);
        rows.push_back(logits_of(session, tokens_));
        set_threads(before);
    }
    EXPECT_EQ(difference(rows[0], rows[1]), 0);
}

TEST_P(EncoderDecoders, RunInAnyTypeOfWeights) {
    const Model exact = model();
    for (const auto& [type, share] : {std::pair(WeightType::f16, 0.02), std::pair(WeightType::bf16, 0.1),
                                      std::pair(WeightType::q8_0, 0.4), std::pair(WeightType::q4_0, 2.0)}) {
        const Model m = model(type);
        Session a(exact, {40}), b(m, {40});
        a.encode(input_);
        b.encode(input_);
        const Rows wanted = logits_of(a, tokens_);
        EXPECT_LE(difference(logits_of(b, tokens_), wanted), share * 1e5 * tolerance(wanted)) << name_of(type);
    }
}

TEST_P(EncoderDecoders, AreWrittenAndReadAgain) {
    const test::TempDir folder;
    const Model m = model();
    TensorMemory tensors = floats_of(m);
    ModelFile file{GetParam().blueprint, m.encoding(), "", {}, {}, {}, WeightType::f32};
    for (std::size_t i = 0; i < tensors.specs().size(); ++i) {
        file.specs.push_back(tensors.specs()[i]);
        file.values.push_back(tensors.view(i));
    }
    write_model(folder / "m.safetensors", file);
    const Model again = Model::load(folder / "m.safetensors");
    EXPECT_EQ(to_json(blueprint_of(again)), to_json(GetParam().blueprint));
    Session a(m, {40}), b(again, {40});
    a.encode(input_);
    b.encode(input_);
    EXPECT_EQ(difference(logits_of(a, tokens_), logits_of(b, tokens_)), 0);
}

INSTANTIATE_TEST_SUITE_P(All, EncoderDecoders, ::testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

// ---- Refusals -------------------------------------------------------------------------------

TEST(Encoders, WantTheirInputFirst) {
    const Model m = random_model(like_t5(), "t5", 1), plain = random_model(small_blueprint(), "rope", 1);
    EXPECT_FALSE(plain.has_encoder());
    const std::vector<Token> tokens = {1, 2, 3};
    Session session(m, {.capacity = 8, .input = 2});
    expect_error(ErrorCode::usage, "expected an input for the encoder before", [&] { session.feed(tokens); });
    expect_error(ErrorCode::limit, "session: encoder: expected at most 2 tokens, found 0 and 3 more",
                 [&] { session.encode(tokens); });
    expect_error(ErrorCode::limit, "token 0: expected an id", [&] { session.encode(std::vector<Token>{101}); });
    expect_error(ErrorCode::usage, "at least one token", [&] { session.encode({}); });
    expect_error(ErrorCode::usage, "not padding", [&] {
        session.encode(std::vector<Token>{1}, {{}, {}, std::vector<int>{1}});
    });
    session.encode(std::vector<Token>{5, 6});
    session.feed(tokens);
    expect_error(ErrorCode::usage, "rewind to 0 first", [&] { session.encode(std::vector<Token>{5}); });
    session.rewind(0);
    expect_error(ErrorCode::limit, "encoder", [&] { session.encode(tokens); });
    expect_error(ErrorCode::usage, "before the first token",
                 [&] { session.feed(tokens); }); // the session has lost its input
    Session other(plain);
    expect_error(ErrorCode::usage, "expected a model with an encoder", [&] { other.encode(tokens); });
    expect_error(ErrorCode::usage, "without an encoder, found 5", [&] { Session s(plain, {.input = 5}); });
    expect_error(ErrorCode::usage, "input: expected 0 or more", [&] { Session s(m, {.input = -1}); });
}

TEST(Encoders, FitTheLayersThatAttendToThem) {
    const auto refused = [](const std::string& phrase, const std::function<void(Blueprint&)>& change) {
        Blueprint b = like_t5();
        change(b);
        expect_error(ErrorCode::model, phrase, [&] { check(b, "m"); });
        expect_error(ErrorCode::model, phrase, [&] { blueprint_from_json(to_json(b), "m"); });
    };
    refused("expected one beside cross_attention, found none", [](Blueprint& b) { b.encoder.clear(); });
    refused("cross_attention in some layer, found none", [](Blueprint& b) { b.cross_attention = false; });
    refused("no embedding_width beside it", [](Blueprint& b) { b.embedding_width = 8; });
    refused("encoder: blueprint field 'd_model': expected 64 to 64", [](Blueprint& b) { b.encoder[0].d_model = 32; });
    refused("encoder: blueprint field 'vocab_size'", [](Blueprint& b) { b.encoder[0].vocab_size = 7; });
    refused("mask causal", [](Blueprint& b) { b.mask = Mask::bidirectional; });
    refused("norm_place pre, post, sandwich or after", [](Blueprint& b) { b.norm_place = NormPlace::parallel; });
    refused("both keys and values", [](Blueprint& b) { b.k_bias = true; });
    refused("encoder: blueprint field 'n_layers'", [](Blueprint& b) { b.encoder[0].n_layers = 0; });
    refused("expected one beside cross_attention", [](Blueprint& b) { b.encoder[0].cross_attention = true; });
    Blueprint b = like_t5();
    b.encoder.push_back(b.encoder.front());
    expect_error(ErrorCode::model, "expected one, found several", [&] { check(b, "m"); });
}

// ---- Padding in a model of one stack --------------------------------------------------------

TEST(Padding, IsAsIfItWereNotThere) {
    Blueprint b = small_blueprint();
    b.mask = Mask::bidirectional;
    for (const char* encoding : {"learned", "segment+learned", "rope", "t5", "shaw", "forget"}) {
        const Model m = random_model(b, encoding, 3);
        const std::vector<Token> tokens = random_tokens(20, b.vocab_size, 9);
        reference::Input in{tokens, {}, {}};
        for (int i = 0; i < 20; ++i) {
            in.positions.push_back(i);
            in.segments.push_back(i / 12);
            in.padding.push_back(i == 0 || i == 7 || i == 8 || i > 16 ? 1 : 0);
        }
        const reference::Tensors tensors = tensors_of(m);
        const reference::Oracles oracles(m.encoding(), b.dims(), tensors);
        const Rows expected = to_rows(reference::Transformer(b, tensors, oracles).logits(in));
        Session session(m);
        std::vector<int> seen;
        session.feed_all(tokens, {{}, in.segments, in.padding}, [&](int first, View logits) {
            for (int i = 0; i < logits.rows; ++i) {
                seen.push_back(first + i);
                EXPECT_LE(difference({logits.row(i), 101}, expected[first + i]), 2e-5) << encoding << first + i;
            }
        });
        EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16})) << encoding;
        EXPECT_EQ(session.size(), 14);
        session.rewind(0);
        const std::span<const float> last = session.feed(tokens, {{}, in.segments, in.padding});
        EXPECT_LE(difference(last, expected[16]), 2e-5) << encoding;
    }
}

TEST(Padding, TakesPositionsInACausalModelToo) {
    const Model m = random_model(small_blueprint(), "learned", 3);
    const std::vector<Token> tokens = {1, 2, 3, 4, 5, 6}, kept = {3, 4, 6, 9};
    const std::vector<int> padding = {1, 1, 0, 0, 1, 0}, places = {2, 3, 5, 6};
    Session a(m), b(m);
    a.feed(tokens, {{}, {}, padding});
    const std::span<const float> one = a.feed(std::vector<Token>{9});
    const std::vector<float> found(one.begin(), one.end());
    EXPECT_EQ(difference(b.feed(kept, {places, {}, {}}), found) < 1e-5, true);
    expect_error(ErrorCode::usage, "for each of 6 tokens whether it is padding, found 1", [&] {
        b.feed(tokens, {{}, {}, std::vector<int>{0}});
    });
}

TEST(States, AreWhatTheHeadReads) {
    Blueprint b = small_blueprint();
    b.tied_head = true;
    const Model m = random_model(b, "rope", 3);
    const std::vector<Token> tokens = random_tokens(20, b.vocab_size, 9);
    const Rows logits = logits_of(m, tokens);
    const reference::Tensors tensors = tensors_of(m);
    Session session(m, {0, 7});
    std::size_t rows = 0;
    session.feed_states(tokens, {}, [&](int first, ConstView states) {
        EXPECT_EQ(states.cols, b.d_model);
        for (int i = 0; i < states.rows; ++i, ++rows)
            for (int token = 0; token < b.vocab_size; ++token) {
                double sum = 0;
                for (int j = 0; j < b.d_model; ++j)
                    sum += static_cast<double>(states.row(i)[j]) * tensors.at("embedding.weight").at(token, j);
                ASSERT_NEAR(sum, logits[first + i][token], 1e-4);
            }
    });
    EXPECT_EQ(rows, tokens.size());
}

} // namespace
} // namespace ordo
