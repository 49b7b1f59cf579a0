// SPDX-License-Identifier: MIT
// Compares filled masks and embedded texts with the oracle, and a decoder's answer to an encoder's text with a session.
#include "model/stack.h"
#include "tests/expect_error.h"
#include "tests/model/small_models.h"
#include "tests/model/word_tokenizer.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

Blueprint masked() {
    Blueprint b = small_blueprint();
    b.vocab_size = test::word_vocabulary;
    b.mask = Mask::bidirectional;
    b.norm = Norm::layer;
    b.norm_bias = b.head_transform = b.head_bias = true;
    return b;
}

TextSide words() {
    return tokenizer_from_json(test::word_tokenizer(), "words");
}

// Random weights with a word tokenizer.
Model with_words(const Blueprint& b, const std::string& encoding, TextSide text) {
    const Model random = random_model(b, encoding, 9);
    return make_model("words", b, ModelEncodings(encoding, b.dims()), floats_of(random), std::move(text), {},
                      b.context);
}

reference::Input input_of(const std::vector<Token>& tokens) {
    reference::Input in{tokens, {}, {}};
    for (std::size_t i = 0; i < tokens.size(); ++i) in.positions.push_back(static_cast<int>(i));
    return in;
}

TEST(Fill, GivesTheLikeliestTokensOfEachBlank) {
    const Model model = with_words(masked(), "segment+learned", words());
    const FilledText filled = fill(model, "the [MASK] sat [MASK]", 3);
    EXPECT_EQ(filled.tokens, (std::vector<Token>{2, 5, 4, 7, 4, 3})); // [CLS] the [MASK] sat [MASK] [SEP]
    ASSERT_EQ(filled.blanks.size(), 2u);
    const reference::Tensors tensors = tensors_of(model);
    const reference::Oracles oracles(model.encoding(), masked().dims(), tensors);
    const reference::Matrix logits =
        reference::Transformer(blueprint_of(model), tensors, oracles).logits(input_of(filled.tokens));
    for (std::size_t i = 0; i < 2; ++i) {
        const Blank& blank = filled.blanks[i];
        EXPECT_EQ(blank.index, i == 0 ? 2 : 4);
        std::vector<std::pair<double, Token>> order;
        double sum = 0;
        for (Token t = 0; t < logits.cols; ++t) {
            order.emplace_back(-logits.at(blank.index, t), t);
            sum += std::exp(logits.at(blank.index, t));
        }
        std::sort(order.begin(), order.end());
        ASSERT_EQ(blank.best.size(), 3u);
        for (std::size_t k = 0; k < 3; ++k) {
            EXPECT_EQ(blank.best[k].token, order[k].second);
            EXPECT_NEAR(blank.best[k].probability, std::exp(-order[k].first) / sum, 1e-5);
        }
    }
    EXPECT_EQ(fill(model, "[MASK]", 1000).blanks.front().best.size(), std::size_t{test::word_vocabulary});
}

TEST(Fill, RefusesByName) {
    const Model model = with_words(masked(), "learned", words());
    expect_error(ErrorCode::usage, "expected [MASK] in the place of a word", [&] { fill(model, "the cat"); });
    expect_error(ErrorCode::usage, "candidates", [&] { fill(model, "[MASK]", 0); });
    std::string longer = "[MASK]";
    for (int i = 0; i < 96; ++i) longer += " cat";
    expect_error(ErrorCode::limit, "learned: expected positions below 96, found 98", [&] { fill(model, longer); });
    Blueprint causal = masked();
    causal.mask = Mask::causal;
    const Model other = with_words(causal, "learned", words());
    expect_error(ErrorCode::usage, "expected a bidirectional model", [&] { fill(other, "[MASK]"); });
    Blueprint bytes = masked();
    bytes.vocab_size = byte_vocabulary;
    const Model without = random_model(bytes, "learned", 1);
    expect_error(ErrorCode::model, "mask token, found none", [&] { fill(without, "[MASK]"); });
    const Model silent = random_model(masked(), "learned", 1);
    expect_error(ErrorCode::model, "has no tokenizer", [&] { fill(silent, "[MASK]"); });
}

TEST(Embed, PoolsTheStatesThatTheHeadReads) {
    const Model model = with_words(masked(), "segment+learned", words());
    const std::vector<Token> tokens = {2, 5, 6, 7, 3};
    const reference::Tensors tensors = tensors_of(model);
    const reference::Oracles oracles(model.encoding(), masked().dims(), tensors);
    const reference::Matrix states =
        reference::Transformer(blueprint_of(model), tensors, oracles).finished(input_of(tokens));
    const auto expected = [&](Pooling pooling, int j) {
        if (pooling != Pooling::mean) return states.at(pooling == Pooling::first ? 0 : states.rows - 1, j);
        double sum = 0;
        for (int i = 0; i < states.rows; ++i) sum += states.at(i, j) / states.rows;
        return sum;
    };
    for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last}) {
        const std::vector<float> raw = embed(model, "The cat sat", {pooling, false}),
                                 unit = embed(model, "the CAT sat", {pooling, true});
        double square = 0;
        for (int j = 0; j < states.cols; ++j) square += expected(pooling, j) * expected(pooling, j);
        for (int j = 0; j < states.cols; ++j) {
            const auto at = static_cast<std::size_t>(j);
            EXPECT_NEAR(raw.at(at), expected(pooling, j), 1e-5);
            EXPECT_NEAR(unit.at(at), expected(pooling, j) / std::sqrt(square), 1e-5);
        }
    }
}

// ---- With an encoder ------------------------------------------------------------------------

Blueprint pair() {
    Blueprint b = small_blueprint();
    b.vocab_size = test::word_vocabulary;
    add_encoder(b);
    return b;
}

TextSide answering() {
    TextSide text(tokenizer_from_json(test::word_tokenizer(), "words"));
    text.special.start = text.special.padding = 0;
    text.special.end = {3};
    return text;
}

TEST(Answers, AreWhatTheDecoderSaysToTheText) {
    const Model model = with_words(pair(), "t5", answering());
    const std::vector<Token> input = {2, 5, 6, 7, 3};
    Session session(model);
    session.encode(input);
    std::vector<Token> expected;
    Token next = 0;
    while (expected.size() < 8) {
        const std::span<const float> logits = session.feed({&next, 1});
        next = 1; // padding, token 0, is never drawn
        for (Token t = 1; t < test::word_vocabulary; ++t)
            if (logits[t] > logits[next]) next = t;
        if (next == 3) break;
        expected.push_back(next);
    }
    GenerateOptions options;
    options.max_tokens = 8;
    options.sampling.temperature = 0;
    const Generation answer = generate(model, "The cat sat", options);
    EXPECT_EQ(answer.prompt_tokens, 5);
    EXPECT_EQ(answer.text, model.decode(expected));
    EXPECT_EQ(answer.new_tokens, static_cast<int>(expected.size()));
    EXPECT_FALSE(expected.empty());
    const std::vector<float> vector = embed(model, "the cat sat", {Pooling::mean, false});
    const reference::Matrix encoded =
        encoded_by_oracle(blueprint_of(model), model.encoding(), tensors_of(model), input);
    for (int j = 0; j < encoded.cols; ++j) {
        double mean = 0;
        for (int i = 0; i < encoded.rows; ++i) mean += encoded.at(i, j) / encoded.rows;
        EXPECT_NEAR(vector.at(j), mean, 1e-5);
    }
}

TEST(Answers, WantATokenToBeginWith) {
    TextSide text = answering();
    text.special.start = -1;
    const Model model = with_words(pair(), "t5", std::move(text));
    expect_error(ErrorCode::model, "a token that the decoder begins with", [&] { generate(model, "the cat"); });
    const Model silent = random_model(pair(), "t5", 1);
    expect_error(ErrorCode::model, "has no tokenizer", [&] { generate(silent, "the cat"); });
}

} // namespace
} // namespace ordo
