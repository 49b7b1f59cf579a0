// SPDX-License-Identifier: MIT
// One stack of layers in training: the forward pass of inference, with every value kept, and the backward pass.
#pragma once

#include "layers/layer.h"
#include "model/stack.h"
#include "training/parameters.h"

namespace ordo {

struct TrainingShape {
    int batch = 1, length = 0; // sequences, and tokens of each
    int axes = 1;              // of positions, at most
    int memory = 0;            // tokens of each sequence in an encoder's output, where layers attend to it

    int rows() const { return batch * length; }
};

// The output of an encoder, and the number of tokens of each sequence without padding.
struct Encoded {
    View rows = {}; // [batch * memory, d]
    std::span<const int> lengths = {};
};

class TrainingStack {
public:
    // encodings: bound to the parameters, for sequences of that length. prefix: of the names of the tensors.
    TrainingStack(const Blueprint& blueprint, ModelEncodings encodings, Parameters& parameters,
                  const std::string& prefix, std::span<const View> encoding_gradients, const TrainingShape& shape);
    // The size of the activations and their gradients.
    static double floats(const Blueprint& blueprint, const ModelEncodings& encodings, TrainingShape shape,
                         const std::string& prefix = "");

    // Sets the positions of each row; none: 0 .. length - 1 in each sequence, and those that encodings derive from the
    // tokens with the random number of a step (TextRows::draw). Throws Error(limit).
    void place(Positions positions, std::span<const Token> tokens, std::uint64_t draw);
    // Sets the number of visible tokens of each sequence, in a bidirectional stack.
    void pad(std::span<const int> lengths);

    // Runs to the input of the head's matrix, or, without a head, to the output of the final norm. The result is valid
    // until the next call.
    void forward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                 const Encoded& encoded = {});
    View read() const;
    View final() const { return finish_.back(); }
    // Before the call, d_read() or d_final() holds the gradient of read() or final(). d_encoded, if given, is
    // overwritten with the gradient of the encoder's rows.
    void backward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                  const Encoded& encoded = {}, View d_encoded = {});
    View d_read() const { return gradient(program_.head, program_.head.steps[program_.head.logits].in); }
    View d_final() const { return gradient(program_.finish, static_cast<int>(program_.finish.values.size()) - 1); }
    // The head's matrix and bias, and their gradients.
    const Linear& head_matrix() const { return weights_.head.linears.back(); }
    const LinearGradient& d_head_matrix() const { return d_.head.linears.back(); }

    ModelEncodings& encodings() { return encodings_; }
    const ModelEncodings& encodings() const { return encodings_; }
    RowScratch& rows() { return rows_scratch_; }
    // From this call on, products with weights, and forward products with keys and values, round to bf16. Throws
    // Error(usage) if the kernels do not support it.
    void multiply_pairs();

private:
    void take_memory(const Blueprint& blueprint);
    Layer enter() const;
    Layer layer(int i) const;
    Layer finish() const;
    Layer head() const;
    Steps before_logits() const;
    void remember(const Encoded& encoded);
    View gradient(const Program& program, int value) const;
    int ids_of_row() const { return shape_.axes + encodings_.derived_axes(); }
    PassRows rows_of_pass(std::span<const Token> tokens, std::span<const int> segments) const {
        return {tokens, {Positions(positions_, shape_.axes, ids_of_row()), segments}, parts_};
    }

    ModelEncodings encodings_;
    TrainingShape shape_;
    StackProgram program_;
    Weights weights_;
    StackTensors<LayerGradients> d_;

    std::vector<Tensor> memory_;              // of the values and gradients below
    std::vector<View> enter_, finish_, head_; // values of each program, [rows, width]
    std::vector<std::vector<View>> layers_;
    GradientMemory gradients_;
    std::vector<int> positions_; // [rows, axes + derived axes]
    std::vector<KvCache> caches_, memories_;
    std::vector<Tensor> remembered_; // of each layer, [batch * memory, 2 kv_width]: keys, then values
    Tensor d_remembered_;
    std::vector<Part> parts_;
    AttentionScratch attention_;
    AttentionGradient attention_gradient_;
    RowScratch rows_scratch_, head_scratch_;
    ExpertScratch experts_;
};

} // namespace ordo
