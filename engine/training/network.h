// SPDX-License-Identifier: MIT
// A model in training: what inference runs, with every value kept, and back again.
#pragma once

#include "training/training_stack.h"

namespace ordo {

// A batch of sequences of one length, one after the other.
struct Sequences {
    std::span<const Token> tokens, targets; // of each token; a target < 0 is not scored
    std::span<const int> segments = {};     // likewise, or none
    Positions positions = {};               // likewise, or none: 0 .. length - 1 in each sequence
    std::span<const Token> input = {};      // of an encoder, for each sequence; filled up with tokens < 0
};

// The position ids that sequences may have.
struct PositionRange {
    int axes = 1;
    int below = 0; // that tables are prepared for; 0: the length
};

class Network {
public:
    // Of batch sequences of length tokens at once, each with an input of so many tokens where the model has an encoder.
    // The encodings are bound to the parameters; those whose angles depend on the length are as in sessions of that
    // length. Networks on different threads may compute at once. Throws Error(usage) naming an encoding, or a tensor,
    // that cannot be trained, and Error(limit) for an encoding that does not reach the length or the positions.
    Network(const Blueprint& blueprint, EncodingStack& encodings, Parameters& parameters, int batch, int length,
            const PositionRange& range = {}, int input = 0);
    ~Network();
    // From now on products with weights are of numbers rounded to bf16, forward and backward, with sums in f32. Throws
    // Error(usage) where the kernels have none.
    void multiply_pairs();
    // What the activations and their gradients take. A double, as it may be more than 64 bits hold.
    static double floats(const Blueprint& blueprint, const EncodingStack& encodings, int batch, int length,
                         int input = 0);

    // Mean loss in nats over the targets that are scored. Throws Error(usage) for another number of tokens, targets,
    // segments or positions than were expected, and Error(limit) for one out of its range.
    double loss(const Sequences& in);
    // The same, and adds the gradient to the parameters'.
    double loss_and_grad(const Sequences& in, const Dropout& dropout = {});

private:
    // An encoder and what goes through it.
    struct Encoder {
        TrainingStack stack;
        int length;                // tokens of each input
        std::vector<Token> tokens; // [batch, length]; those of padding are any
        std::vector<int> lengths;  // of each sequence, without padding
    };
    void add_encoder(Parameters& parameters, const std::vector<View>& gradients, int batch, int length);
    void check(const Sequences& in) const;
    void check_input(std::span<const Token> input) const;
    void take(std::span<const Token> input);
    double pass(const Sequences& in, const Dropout& dropout, bool backward);
    Encoded encoded() { return encoder_ ? Encoded{encoder_->stack.final(), encoder_->lengths} : Encoded{}; }
    void backward(const Sequences& in, const Dropout& dropout);

    Blueprint blueprint_;
    int rows_, length_;
    PositionRange range_;
    std::unique_ptr<TrainingStack> stack_;
    std::unique_ptr<Encoder> encoder_; // may be none
    Tensor logits_;
};

// Throws Error(limit) if the machine has not the memory for so many copies of the parameters and for a Network.
void check_training_memory(const Blueprint& blueprint, const EncodingStack& encodings, int batch, int length,
                           int copies, int input = 0);

} // namespace ordo
