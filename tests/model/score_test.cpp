// SPDX-License-Identifier: MIT
// The log-probability of each token of a text, against the oracle's logits.
#include "tests/model/small_models.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

TEST(Score, IsTheLogSoftmaxOfTheOraclesLogits) {
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    const Model model = random_model(b, "rope", 21);
    const std::string text = "Once upon a time";
    std::vector<Token> tokens = {256}; // <|endoftext|> of the byte tokenizer begins a text
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    reference::Input in{tokens, {}, {}};
    for (std::size_t i = 0; i < tokens.size(); ++i) in.positions.push_back(static_cast<int>(i));
    const reference::Tensors tensors = tensors_of(model);
    const reference::Oracles oracles(model.encoding(), b.dims(), tensors);
    const reference::Matrix logits = reference::Transformer(b, tensors, oracles).logits(in);
    const std::vector<TokenScore> scores = score(model, text);
    ASSERT_EQ(scores.size(), text.size());
    for (int i = 0; i < static_cast<int>(scores.size()); ++i) {
        double sum = 0;
        for (int t = 0; t < b.vocab_size; ++t) sum += std::exp(logits.at(i, t));
        const TokenScore& one = scores[i];
        EXPECT_EQ(one.token, tokens[i + 1]);
        EXPECT_NEAR(one.log_probability, logits.at(i, one.token) - std::log(sum), 1e-4);
    }
    EXPECT_TRUE(score(model, "").empty());
}

TEST(Score, RefusesModelsAndTextsThatHaveNone) {
    const auto code_of = [](const Model& model, const std::string& text) {
        try {
            score(model, text);
        } catch (const Error& error) {
            return error.code;
        }
        return ErrorCode::failure;
    };
    Blueprint b = small_blueprint();
    b.vocab_size = byte_vocabulary;
    EXPECT_EQ(code_of(random_model(b, "rope", 1), std::string(200, 'a')), ErrorCode::limit);
    EXPECT_EQ(code_of(random_model(small_blueprint(), "rope", 1), "a"), ErrorCode::model); // no tokenizer
    b.mask = Mask::bidirectional;
    EXPECT_EQ(code_of(random_model(b, "learned", 1), "a"), ErrorCode::usage);
}

} // namespace
} // namespace ordo
