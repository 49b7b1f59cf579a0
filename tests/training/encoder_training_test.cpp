// SPDX-License-Identifier: MIT
// Trains a model with an encoder through the public header. The trained model's sessions must compute the same loss.
#include "training.h"

#include "tests/model/small_models.h"
#include "training/muon.h"

#include <gtest/gtest.h>

namespace ordo {
namespace {

constexpr int batch = 3, length = 9, input_length = 7;

Model model() {
    Blueprint b = small_blueprint();
    b.context = 16;
    add_encoder(b);
    return random_model(b, "t5:buckets=8,distance=12", 5);
}

// Sequence i has i tokens of padding.
struct EncoderText {
    std::vector<Token> tokens = random_tokens(batch * length, 101, 1), targets = random_tokens(batch * length, 101, 2),
                       input = random_tokens(batch * input_length, 101, 3);
    EncoderText() {
        for (int i = 0; i < batch; ++i) std::fill_n(input.begin() + (i + 1) * input_length - i, i, -1);
    }
};

double session_loss(const Model& m, const EncoderText& text) {
    double total = 0;
    for (int s = 0; s < batch; ++s) {
        Session session(m);
        session.encode(std::span(text.input).subspan(static_cast<std::size_t>(s) * input_length, input_length - s));
        const std::size_t first = static_cast<std::size_t>(s) * length;
        const Rows rows = logits_of(session, std::span(text.tokens).subspan(first, length));
        for (std::size_t i = 0; i < length; ++i) {
            double sum = 0;
            for (const float x : rows[i]) sum += std::exp(static_cast<double>(x));
            total += std::log(sum) - rows[i][text.targets[first + i]];
        }
    }
    return total / (batch * length);
}

TEST(EncoderTraining, ComputesWhatSessionsDoAndLearns) {
    const Model m = model();
    const EncoderText text;
    Trainer trainer(m, {.batch = batch, .length = length, .weight_decay = 0, .input = input_length});
    EXPECT_NEAR(trainer.loss(text.tokens, text.targets, {}, text.input), session_loss(m, text), 1e-5);
    double loss = 0;
    for (int i = 0; i < 60; ++i) loss = trainer.step(text.tokens, text.targets, 0.02, {}, text.input);
    EXPECT_LT(loss, 0.3); // log 101 at the beginning
    const Model trained = trainer.model();
    EXPECT_NEAR(trainer.loss(text.tokens, text.targets, {}, text.input), session_loss(trained, text), 1e-5);
    // Every matrix of the encoder and every distance bias has changed.
    const reference::Tensors before = tensors_of(m), after = tensors_of(trained);
    for (const auto& [name, matrix] : before) EXPECT_NE(matrix.values, after.at(name).values) << name;
}

TEST(EncoderTraining, WantsAnInputOfItsLength) {
    const Model m = model();
    const EncoderText text;
    Trainer trainer(m, {.batch = batch, .length = length, .input = input_length});
    const auto refused = [&](ErrorCode code, const std::string& phrase, const std::function<void()>& action) {
        try {
            action();
            ADD_FAILURE() << phrase;
        } catch (const Error& error) {
            EXPECT_EQ(error.code, code);
            EXPECT_NE(std::string(error.what()).find(phrase), std::string::npos) << error.what();
        }
    };
    refused(ErrorCode::usage, "expected 21 tokens of an encoder's input, found 0",
            [&] { trainer.step(text.tokens, text.targets, 0.1); });
    std::vector<Token> input = text.input;
    input[3] = -1;
    refused(ErrorCode::usage, "padding before token 4", [&] { trainer.loss(text.tokens, text.targets, {}, input); });
    input[3] = 101;
    refused(ErrorCode::limit, "found 101", [&] { trainer.loss(text.tokens, text.targets, {}, input); });
    std::fill_n(input.begin() + input_length, input_length, -1);
    input[3] = 1;
    refused(ErrorCode::usage, "at least one token in each",
            [&] { trainer.loss(text.tokens, text.targets, {}, input); });
    const Model plain = random_model(small_blueprint(), "rope", 1);
    refused(ErrorCode::usage, "without an encoder, found 4", [&] { Trainer t(plain, {.input = 4}); });
    refused(ErrorCode::usage, "no padding", [&] {
        trainer.loss(text.tokens, text.targets, {{}, {}, text.tokens}, text.input);
    });
}

TEST(EncoderTraining, MuonTakesTheEncodersMatricesToo) {
    Blueprint b = small_blueprint();
    add_encoder(b);
    b.encoder.front().d_ff = 12;
    const std::vector<TensorSpec> specs = tensor_list(b);
    std::vector<std::string> found;
    for (const MatrixRows& m : hidden_matrices(b))
        if (specs[m.tensor].name.starts_with("encoder.layers.1.feed"))
            found.push_back(std::to_string(m.first) + "+" + std::to_string(m.rows));
    EXPECT_EQ(found, (std::vector<std::string>{"0+12", "12+12", "0+40"}));
}

} // namespace
} // namespace ordo
