// SPDX-License-Identifier: MIT
// A model in training: what inference runs, with every value kept, and back again.
#pragma once

#include "model/pass.h"
#include "training/before_head.h"
#include "training/parameters.h"

namespace ordo {

// A batch of sequences of one length, one after the other.
struct Sequences {
    std::span<const Token> tokens, targets; // of each token; a target < 0 is not scored
    std::span<const int> segments = {};     // likewise, or none
    Positions positions = {};               // likewise, or none: 0 .. length - 1 in each sequence
};

// The position ids that sequences may have.
struct PositionRange {
    int axes = 1;
    int below = 0; // that tables are prepared for; 0: the length
};

class Network {
public:
    // Of batch sequences of length tokens at once. The encodings are bound to the parameters; those whose angles depend on
    // the length are as in sessions of that length. Networks on different threads may compute at once. Throws Error(usage)
    // naming an encoding, or a tensor, that cannot be trained, and Error(limit) for an encoding that does not reach the
    // length or the positions.
    Network(const Blueprint& blueprint, EncodingStack& encodings, Parameters& parameters, int batch, int length,
            const PositionRange& range = {});
    ~Network();
    // What the activations and their gradients take. A double, as it may be more than 64 bits hold.
    static double floats(const Blueprint& blueprint, const EncodingStack& encodings, int batch, int length);

    // Mean loss in nats over the targets that are scored. Throws Error(usage) for another number of tokens, targets,
    // segments or positions than were expected, and Error(limit) for one out of its range.
    double loss(const Sequences& in);
    // The same, and adds the gradient to the parameters'.
    double loss_and_grad(const Sequences& in, const Dropout& dropout = {});

private:
    void check(const Sequences& in) const;
    double pass(const Sequences& in, const Dropout& dropout, bool backward);
    void place(Positions positions);
    void forward(const Sequences& in, const Dropout& dropout);
    void backward(const Sequences& in, const Dropout& dropout);
    void embed_backward(const Sequences& in, const Dropout& dropout);
    Layer layer(int i) const;
    TokenRows token_rows(const Sequences& in) const;
    View gradient(const std::string& name) { return parameters_.grad(name); }

    Blueprint blueprint_;
    EncodingStack encodings_; // the caller's, or what stands in for them at this length
    Parameters& parameters_;
    int rows_, length_;
    PositionRange range_;
    std::vector<LayerProgram> programs_;
    Weights weights_;
    std::vector<LayerGradients> layer_gradients_;
    NormWeights d_embedding_norm_, d_final_norm_;
    LinearGradient d_head_;
    std::vector<View> encoding_gradients_;

    std::vector<Tensor> memory_;            // of the values below
    std::vector<View> stages_;              // of the embedding, [rows, d]
    std::vector<std::vector<View>> values_; // of each layer
    Tensor final_;                          // [rows, d]: after the final norm
    std::unique_ptr<BeforeHead> before_head_;
    std::vector<Tensor> gradient_memory_;
    GradientMemory gradients_;
    Tensor logits_;
    std::vector<int> positions_; // [rows, axes]
    std::vector<KvCache> caches_;
    std::vector<Part> parts_;
    AttentionScratch attention_;
    AttentionGradient attention_gradient_;
    RowScratch rows_scratch_;
    ExpertScratch experts_;
};

// Throws Error(limit) if the machine has not the memory for so many copies of the parameters and for a Network.
void check_training_memory(const Blueprint& blueprint, const EncodingStack& encodings, int batch, int length,
                           int copies);

} // namespace ordo
