// SPDX-License-Identifier: MIT
#include "training/network.h"

#include "core/error.h"
#include "core/number.h"
#include "core/random.h"
#include "encoding/base/model_encodings.h"
#include "model/memory_limit.h"
#include "model/sequence.h"
#include "training/loss.h"

#include <algorithm>
#include <limits>

namespace ordo {
namespace {

constexpr int head_rows = 512;                             // their logits are held at once
constexpr std::uint64_t encoder_seed = 0x656e636f64657200; // of its dropout, different from the decoder's
constexpr std::uint64_t positions_stream = 0xabac05;       // of TextRows::draw

ModelEncodings encoder_encodings(const Blueprint& b, const ModelEncodings& encodings) {
    return {encodings.spec(), b.encoder.front().dims()};
}

} // namespace

Network::Network(const Blueprint& b, ModelEncodings& encodings, Parameters& parameters, int batch, int length,
                 const PositionRange& range, int input)
    : blueprint_(b), rows_(batch * length), length_(length), range_{range.axes, std::max(range.below, length)},
      logits_(std::min(rows_, head_rows), b.vocab_size) {
    check_reach(encodings, range_.below);
    for (int i = 0; i < b.n_layers; ++i)
        if (b.layer(i).qk_norm == QkNorm::rotated)
            fail(ErrorCode::usage, "training: expected norms of queries and keys before their rotation, found rotated");
    if (!b.dense.empty()) fail(ErrorCode::usage, "training: expected no dense layers behind the pooling, found some");
    if (b.encoder.empty() != (input == 0))
        fail(ErrorCode::usage, "training: expected ", b.encoder.empty() ? "no" : "some",
             " tokens of an encoder's input, found ", input);
    std::vector<View> values, gradients, encoder_gradients;
    const auto own = static_cast<int>(encodings.tensors().size());
    for (int i = parameters.first_encoding_tensor(); i < parameters.count(); ++i) {
        const bool of_encoder = i >= parameters.first_encoding_tensor() + own;
        if (!of_encoder) values.push_back(parameters.value(i));
        (of_encoder ? encoder_gradients : gradients).push_back(parameters.grad(i));
    }
    encodings.bind(values);
    // The text length is the range of its positions: randomised positions exceed the sequence.
    const Lengths lengths(length, range_.below);
    ModelEncodings at_length = encodings.at_length(lengths, length).value_or(encodings);
    at_length.check_trainable();
    stack_ = std::make_unique<TrainingStack>(blueprint_, std::move(at_length), parameters, "", gradients,
                                             TrainingShape{batch, length, range.axes, input});
    if (input > 0) {
        ModelEncodings of_encoder = encoder_encodings(b, encodings);
        check_reach(of_encoder, input);
        add_encoder(parameters, encoder_gradients, batch, input);
    }
}

void Network::add_encoder(Parameters& parameters, const std::vector<View>& gradients, int batch, int length) {
    const Blueprint& b = blueprint_.encoder.front();
    ModelEncodings encodings = encoder_encodings(blueprint_, stack_->encodings());
    std::vector<View> values;
    for (const TensorSpec& spec : encodings.tensors()) values.push_back(parameters.value(encoder_prefix + spec.name));
    encodings.bind(values);
    ModelEncodings at_length = encodings.at_length(length, length).value_or(encodings);
    at_length.check_trainable();
    const auto rows = static_cast<std::size_t>(batch) * static_cast<std::size_t>(length);
    // NOLINTNEXTLINE: an aggregate, whose stack does not move
    encoder_ = std::unique_ptr<Encoder>(new Encoder{TrainingStack(b, std::move(at_length), parameters, encoder_prefix,
                                                                  gradients, TrainingShape{batch, length, 1, 0}),
                                                    length, std::vector<Token>(rows),
                                                    std::vector<int>(static_cast<std::size_t>(batch))});
}

Network::~Network() = default;

void Network::multiply_pairs() {
    stack_->multiply_pairs();
    if (encoder_) encoder_->stack.multiply_pairs();
}

double Network::floats(const Blueprint& b, const ModelEncodings& encodings, int batch, int length, int input) {
    const double rows = static_cast<double>(batch) * length;
    double floats = TrainingStack::floats(b, encodings, {batch, length, 1, input}) +
                    std::min(rows, double{head_rows}) * b.vocab_size;
    if (input > 0)
        floats += TrainingStack::floats(b.encoder.front(), encoder_encodings(b, encodings), {batch, input, 1, 0},
                                        encoder_prefix);
    return floats;
}

void Network::check(const Sequences& in) const {
    const auto count = [&](const char* what, std::size_t found, bool optional) {
        if (found != static_cast<std::size_t>(rows_) && !(optional && found == 0))
            fail(ErrorCode::usage, "training: expected ", rows_, " ", what, ", ", rows_ / length_, " sequences of ",
                 length_, ", found ", found);
    };
    const auto range = [](const char* what, std::span<const int> values, int least, int end) {
        for (std::size_t i = 0; i < values.size(); ++i)
            if (values[i] < least || values[i] >= end)
                fail(ErrorCode::limit, "training: ", what, " ", i, ": expected one from 0 to ", end - 1, ", found ",
                     values[i]);
    };
    if (in.positions.axes() < 1 || in.positions.axes() > range_.axes)
        fail(ErrorCode::usage, "training: expected positions of at least 1 and at most ", range_.axes, " axes, found ",
             in.positions.axes());
    count("tokens", in.tokens.size(), false);
    count("targets", in.targets.size(), false);
    count("segments", in.segments.size(), true);
    count("positions", in.positions.size(), true);
    range("token", in.tokens, 0, blueprint_.vocab_size);
    range("target", in.targets, std::numeric_limits<int>::min(), blueprint_.vocab_size);
    range("segment", in.segments, 0, stack_->encodings().limits().segments);
    range("position", in.positions.ids(), 0, stack_->encodings().limits().given());
    if (std::none_of(in.targets.begin(), in.targets.end(), [](Token t) { return t >= 0; }))
        fail(ErrorCode::usage, "training: expected at least one target >= 0, found none");
    check_input(in.input);
}

void Network::check_input(std::span<const Token> input) const {
    const std::size_t expected = encoder_ ? encoder_->tokens.size() : 0;
    if (input.size() != expected)
        fail(ErrorCode::usage, "training: expected ", expected, " tokens of an encoder's input, found ", input.size());
    for (std::size_t i = 0; i < input.size(); ++i) {
        if (input[i] >= blueprint_.vocab_size)
            fail(ErrorCode::limit, "training: input: expected a token below ", blueprint_.vocab_size, ", found ",
                 input[i]);
        const bool first = i % static_cast<std::size_t>(encoder_->length) == 0;
        if (input[i] >= 0 ? !first && input[i - 1] < 0 : first)
            fail(ErrorCode::usage,
                 "training: input: expected at least one token in each sequence, and padding behind "
                 "it alone, found padding before token ",
                 i + (first ? 1 : 0));
    }
}

// Copies an encoder's inputs, and finds the end of each.
void Network::take(std::span<const Token> input, std::uint64_t draw) {
    Encoder& e = *encoder_;
    std::fill(e.lengths.begin(), e.lengths.end(), 0);
    for (std::size_t i = 0; i < input.size(); ++i) {
        e.tokens[i] = std::max(input[i], 0);
        e.lengths[i / static_cast<std::size_t>(e.length)] += input[i] >= 0 ? 1 : 0;
    }
    e.stack.place({}, e.tokens, draw);
    e.stack.pad(e.lengths);
}

void check_training_memory(const Blueprint& b, const ModelEncodings& encodings, int batch, int length, int copies,
                           int input) {
    if (const int longest = std::max(length, input); longest > most_session_tokens)
        fail(ErrorCode::limit, "training: expected sequences of at most ", most_session_tokens, " tokens, found ",
             longest);
    const auto parameters = static_cast<double>(Parameters::floats(b, encodings));
    const double bytes = sizeof(float) * (copies * parameters + Network::floats(b, encodings, batch, length, input));
    const std::int64_t tokens = static_cast<std::int64_t>(batch) * std::max(length, input);
    if (bytes > static_cast<double>(default_memory_limit()) || tokens > std::numeric_limits<int>::max())
        fail(ErrorCode::limit, "training: steps of ", tokens, " tokens take ",
             bytes_text(static_cast<std::uint64_t>(std::min(bytes, 0x1p63))), ", more than the ",
             bytes_text(default_memory_limit()), " that may be used; a smaller batch, context or model takes less");
}

double Network::loss(const Sequences& in) {
    return pass(in, {}, false);
}

double Network::loss_and_grad(const Sequences& in, const Dropout& dropout) {
    return pass(in, dropout, true);
}

double Network::pass(const Sequences& in, const Dropout& dropout, bool backward) {
    check(in);
    const std::uint64_t draw = backward ? Random(dropout.seed, positions_stream).bits(dropout.step) : 0;
    stack_->place(in.positions, in.tokens, draw);
    // The last step has changed the tensors.
    const auto beyond = std::min<std::int64_t>(range_.below, most_prepared);
    stack_->encodings().prepare(std::max(length_, static_cast<int>(beyond)));
    if (encoder_) {
        take(in.input, draw);
        encoder_->stack.encodings().prepare(encoder_->length);
        encoder_->stack.forward(encoder_->tokens, {}, {dropout.rate, dropout.seed ^ encoder_seed, dropout.step});
    }
    stack_->forward(in.tokens, in.segments, dropout, encoded());
    const double result =
        cross_entropy(stack_->read(), stack_->head_matrix(), blueprint_.final_softcap, in.targets,
                      backward ? stack_->d_read() : View{}, stack_->d_head_matrix(), stack_->rows(), logits_.view());
    if (backward) this->backward(in, dropout);
    return result;
}

void Network::backward(const Sequences& in, const Dropout& dropout) {
    stack_->backward(in.tokens, in.segments, dropout, encoded(), encoder_ ? encoder_->stack.d_final() : View{});
    if (!encoder_) return;
    encoder_->stack.backward(encoder_->tokens, {}, {dropout.rate, dropout.seed ^ encoder_seed, dropout.step});
}

} // namespace ordo
