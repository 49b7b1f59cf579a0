// SPDX-License-Identifier: MIT
// One stack of layers in training: what inference runs, with every value kept, and back again.
#pragma once

#include "model/pass.h"
#include "training/parameters.h"

namespace ordo {

struct StackShape {
    int batch = 1, length = 0; // sequences, and tokens of each
    int axes = 1;              // of positions, at most
    int memory = 0;            // tokens of each sequence in an encoder's output, where layers attend to it

    int rows() const { return batch * length; }
};

// What an encoder made of its input, and how many tokens of each sequence are no padding.
struct Encoded {
    View rows = {}; // [batch * memory, d]
    std::span<const int> lengths = {};
};

class TrainedStack {
public:
    // encodings: bound to the parameters, for sequences of that length. prefix: of the names of its tensors.
    TrainedStack(const Blueprint& blueprint, EncodingStack encodings, Parameters& parameters, const std::string& prefix,
                 std::vector<View> encoding_gradients, const StackShape& shape);
    // What the activations and their gradients take.
    static double floats(const Blueprint& blueprint, const EncodingStack& encodings, const StackShape& shape);

    // Of each row, or none: 0 .. length - 1 in each sequence.
    void place(Positions positions);
    // Tokens of each sequence that the others see, where all see all.
    void pad(std::span<const int> lengths);

    // To what the final norm leaves, [rows, d], which stays until the next call.
    View forward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                 const Encoded& encoded = {});
    View final() { return final_.view(); }
    // d_final() holds the gradient of what forward() gave; d_encoded, where there is one, is overwritten with that of its rows.
    void backward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout,
                  const Encoded& encoded = {}, View d_encoded = {});
    View d_final() const { return gradients_.normed; }

    EncodingStack& encodings() { return encodings_; }
    const EncodingStack& encodings() const { return encodings_; }
    const Weights& weights() const { return weights_; }
    RowScratch& rows() { return rows_scratch_; }

private:
    void find_gradients(Parameters& parameters, const std::string& prefix);
    void take_memory();
    Layer layer(int i) const;
    void remember(const Encoded& encoded);
    void embed_backward(std::span<const Token> tokens, std::span<const int> segments, const Dropout& dropout);
    TokenRows token_rows(std::span<const int> segments) const { return {Positions(positions_, shape_.axes), segments}; }

    Blueprint blueprint_;
    EncodingStack encodings_;
    StackShape shape_;
    std::vector<LayerProgram> programs_;
    Weights weights_;
    View d_embedding_;
    LinearGradient d_embedding_projection_;
    Tensor d_narrow_; // [rows, embedding_width]
    NormWeights d_embedding_norm_, d_final_norm_;
    std::vector<LayerGradients> layer_gradients_;
    std::vector<View> encoding_gradients_;

    std::vector<Tensor> memory_;            // of the values below
    std::vector<View> stages_;              // of the embedding, [rows, d]
    std::vector<std::vector<View>> values_; // of each layer
    Tensor final_;                          // [rows, d]
    std::vector<Tensor> gradient_memory_;
    GradientMemory gradients_;
    std::vector<int> positions_; // [rows, axes]
    std::vector<KvCache> caches_, memories_;
    std::vector<Tensor> remembered_; // of each layer, [batch * memory, 2 kv_width]: keys, then values
    Tensor d_remembered_;
    std::vector<Part> parts_;
    AttentionScratch attention_;
    AttentionGradient attention_gradient_;
    RowScratch rows_scratch_;
    ExpertScratch experts_;
};

} // namespace ordo
