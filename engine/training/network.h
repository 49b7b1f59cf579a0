// SPDX-License-Identifier: MIT
// A model in training: the forward pass of inference, with every value kept, and the backward pass.
#pragma once

#include "training/training_stack.h"

namespace ordo {

// A batch of sequences of one length, one after another.
struct Sequences {
    std::span<const Token> tokens, targets; // of each token; a target < 0 is not scored
    std::span<const int> segments = {};     // of each token, or none
    Positions positions = {};               // of each token, or none: 0 .. length - 1 in each sequence
    std::span<const Token> input = {};      // of an encoder, for each sequence; padded with tokens < 0
};

// The range of the sequences' position ids.
struct PositionRange {
    int axes = 1;
    int below = 0; // tables are prepared for it; 0: the length
};

class Network {
public:
    // Computes `batch` sequences of `length` tokens at once, each with `input` tokens where the model has an encoder.
    // The encodings are bound to the parameters; angles that depend on the length are as in sessions of that length.
    // Networks on different threads may compute at once. Throws Error(usage) with the name of an encoding or a tensor
    // that cannot be trained, and Error(limit) for an encoding that does not reach the length or the positions.
    Network(const Blueprint& blueprint, ModelEncodings& encodings, Parameters& parameters, int batch, int length,
            const PositionRange& range = {}, int input = 0);
    ~Network();
    // From this call on, products with weights round their inputs to bf16, forward and backward, and sum in f32, as do
    // the forward products of attention. Throws Error(usage) if the kernels do not support it.
    void multiply_pairs();
    // The size of the activations and their gradients. A double, as it may exceed 64 bits.
    static double floats(const Blueprint& blueprint, const ModelEncodings& encodings, int batch, int length,
                         int input = 0);

    // Mean loss in nats over the scored targets. Throws Error(usage) for a wrong number of tokens, targets, segments or
    // positions, or if no target is scored, and Error(limit) for a value out of range.
    double loss(const Sequences& in);
    // The same in a step of training, and adds the gradient to that of the parameters. The seed and the step of the
    // dropout also choose the random numbers of encodings that draw positions.
    double loss_and_grad(const Sequences& in, const Dropout& dropout = {});

private:
    // An encoder and its inputs.
    struct Encoder {
        TrainingStack stack;
        int length;                // tokens of each input
        std::vector<Token> tokens; // [batch, length]; padding holds any token
        std::vector<int> lengths;  // of each sequence, without padding
    };
    void add_encoder(Parameters& parameters, const std::vector<View>& gradients, int batch, int length);
    void check(const Sequences& in) const;
    void check_input(std::span<const Token> input) const;
    void take(std::span<const Token> input, std::uint64_t draw);
    double pass(const Sequences& in, const Dropout& dropout, bool backward);
    Encoded encoded() { return encoder_ ? Encoded{encoder_->stack.final(), encoder_->lengths} : Encoded{}; }
    void backward(const Sequences& in, const Dropout& dropout);

    Blueprint blueprint_;
    int rows_, length_;
    PositionRange range_;
    std::unique_ptr<TrainingStack> stack_;
    std::unique_ptr<Encoder> encoder_; // null without an encoder
    Tensor logits_;
};

// Throws Error(limit) if the machine lacks the memory for `copies` copies of the parameters and for a Network.
void check_training_memory(const Blueprint& blueprint, const ModelEncodings& encodings, int batch, int length,
                           int copies, int input = 0);

} // namespace ordo
