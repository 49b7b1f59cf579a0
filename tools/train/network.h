// SPDX-License-Identifier: MIT
// A trunk in training: parameters, their gradients, and the pass forward and back over a batch.
#pragma once

#include "tools/train/backward.h"

#include <optional>

namespace ordo::train {

// All trainable tensors of a model in one block, with a gradient each.
class Parameters {
public:
    Parameters(const Blueprint& blueprint, const EncodingStack& encodings);
    // The size of such a block, without one.
    static std::uint64_t floats(const Blueprint& blueprint, const EncodingStack& encodings);

    std::span<const TensorSpec> specs() const { return specs_; } // the blueprint's, then the encodings'
    int count() const { return static_cast<int>(specs_.size()); }
    std::size_t size() const { return values_.size(); }
    View value(int i) { return view_of(values_, i); }
    View grad(int i) { return view_of(grads_, i); }
    View value(const std::string& name); // without data if there is no such tensor
    View grad(const std::string& name);
    std::span<float> values() { return values_; }
    std::span<float> grads() { return grads_; }
    int first_encoding_tensor() const { return first_encoding_tensor_; }

    // Starts training: norms at one, the rest normal with init_std, from Philox (seed, number of the tensor).
    void initialise(std::uint64_t seed);

private:
    View view_of(Buffer<float>& buffer, int i);
    int find(const std::string& name) const;

    std::vector<TensorSpec> specs_;
    std::vector<std::size_t> offsets_;
    Buffer<float> values_, grads_;
    int first_encoding_tensor_;
};

struct Dropout {
    double rate = 0;
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
};

class Network {
public:
    // Up to batch sequences of length tokens at once. The encodings are bound to the parameters. With
    // gemm_alone several networks may compute at once, each on a thread. Throws Error(usage) for a blueprint
    // with a soft cap.
    Network(const Blueprint& blueprint, EncodingStack& encodings, Parameters& parameters, int batch, int length,
            Gemm product = gemm);
    ~Network();
    // What the activations and their gradients take. A double, as it may be more than 64 bits hold.
    static double floats(const Blueprint& blueprint, const EncodingStack& encodings, int batch, int length);

    // Mean loss in nats over the targets that are >= 0. tokens and targets: [batch * length].
    double loss(std::span<const Token> tokens, std::span<const Token> targets, std::span<const int> segments = {});
    // The same, and adds the gradient to the parameters'.
    double loss_and_grad(std::span<const Token> tokens, std::span<const Token> targets,
                         std::span<const int> segments = {}, const Dropout& dropout = {});

private:
    struct Layer;
    double pass(std::span<const Token> tokens, std::span<const Token> targets, std::span<const int> segments,
                const Dropout& dropout, bool backward);
    void embed(std::span<const Token> tokens, const TokenRows& rows);
    void embed_backward(std::span<const Token> tokens, const TokenRows& rows);
    void layer_forward(Layer& layer, int index, Positions positions);
    void layer_backward(Layer& layer, int index, Positions positions);
    void attention_forward(Layer& layer, int index, View in, Positions positions, View out);
    void attention_backward(Layer& layer, int index, View in, Positions positions, View dout, View d_in,
                            bool accumulate);
    void feed_forward(Layer& layer, View in, View out);
    void feed_backward(Layer& layer, View in, View dout, View d_in, bool accumulate);
    void norm(View x, const std::string& name, View y);
    void norm_back(View x, const std::string& name, View dy, View dx, bool accumulate);
    void drop(View x, int site);
    View weight(const std::string& name) { return parameters_.value(name + ".weight"); }
    View bias(const std::string& name) { return parameters_.value(name + ".bias"); }

    Blueprint blueprint_;
    EncodingStack& encodings_;
    Parameters& parameters_;
    Gemm product_;
    int rows_, length_;
    Attention attention_;
    std::vector<Layer> layers_;
    std::vector<Tensor> embedded_;          // [rows, d], the input of each encoding's embed()
    Tensor stream_, norm_in_, final_;       // [rows, d]: the residual stream, inputs of embedding norm and head
    Tensor d_stream_, branch_, branch2_;    // [rows, d]: gradients
    Tensor d_heads_, d_qkv_, d_act_, d_in_; // gradients inside a layer
    Tensor logits_;
    std::vector<int> positions_; // [rows]: 0 .. length - 1 for each sequence
    Dropout dropout_;
};

} // namespace ordo::train
