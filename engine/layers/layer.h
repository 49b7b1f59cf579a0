// SPDX-License-Identifier: MIT
// One layer of a transformer, or an end of the stack: runs the steps of its program over rows of activations, forward
// and backward.
#pragma once

#include "layers/attention.h"
#include "layers/experts.h"
#include "layers/linear.h"

namespace ordo {

struct NormWeights {
    View weight, bias; // [1, d]; no bias: no data
};

// The tensors of a program, in the order of its lists: values, or gradients.
template <class Linear>
struct LayerTensors {
    std::vector<Linear> linears;
    std::vector<NormWeights> norms;
    std::vector<View> vectors;
};
using LayerWeights = LayerTensors<Linear>;
struct LayerGradients : LayerTensors<LinearGradient> {
    TensorGradients encodings; // of the layer's encodings; at the beginning of a stack, of all
};

// Those of a stack, by the programs of these names.
template <class Layer>
struct StackTensors {
    Layer enter, finish, head;
    std::vector<Layer> layers;
};

// Finds the tensors of a stack by their names: matrix(name) and view(name), which returns a view without data for a
// missing tensor. prefix: empty, or that of an encoder, which shares its matrices outside of layers.
template <class Layer, class FindMatrix, class FindView>
StackTensors<Layer> stack_tensors(const StackProgram& stack, const std::string& prefix, const FindMatrix& matrix,
                                  const FindView& view) {
    const auto find = [&](const Program& program, const std::string& of_matrices, const std::string& of_others) {
        Layer found;
        for (const LinearSpec& s : program.linears)
            found.linears.push_back({matrix(s.weight_name(of_matrices)), //
                                     s.bias ? view(of_others + s.name + ".bias") : View{}});
        for (const NormSpec& s : program.norms)
            found.norms.push_back(
                {view(of_others + s.name + ".weight"), s.bias ? view(of_others + s.name + ".bias") : View{}});
        for (const VectorSpec& s : program.vectors) found.vectors.push_back(view(of_others + s.name));
        return found;
    };
    StackTensors<Layer> all{
        find(stack.enter, "", prefix), find(stack.finish, "", prefix), find(stack.head, "", prefix), {}};
    for (int i = 0; i < stack.n_layers(); ++i) {
        const std::string own = prefix + stack.layer_prefix(i);
        all.layers.push_back(find(stack.layer(i), own, own));
    }
    return all;
}

// Zeroes elements with probability `rate` and scales the rest by 1 / (1 - rate) (Srivastava et al. 2014). The same
// seed, step and site drop the same elements, so that it is its own adjoint.
struct Dropout {
    double rate = 0;
    std::uint64_t seed = 0, step = 0;

    void operator()(View x, int site) const;
};

// Working memory besides the activations, shared by the layers of one model.
struct LayerScratch {
    AttentionScratch* attention;
    RowScratch* rows;
    ExpertScratch* experts;
};

// Rows of tokens in a pass through a stack: of one sequence or of several, many rows each or one.
struct PassRows {
    std::span<const Token> tokens = {};
    TokenRows rows = {};              // positions and segments, of each token
    std::span<const Part> parts = {}; // the rows' sequences; empty: all rows of the input, no attention
};

struct Layer {
    const Program& program;
    const LayerWeights& weights;
    const LayerEncodings& encodings;
    int index;
    const Watch* watch = nullptr;
    const ModelEncodings* embedding = nullptr; // whose encodings embed

    // What stands outside of the layers: the beginning of a stack, its final norm, or its head.
    static Layer outside(const Program& program, const LayerWeights& weights, const ModelEncodings& encodings) {
        return {program, weights, no_encodings(), -1, nullptr, &encodings};
    }

    // step: of attention.
    AttentionLayer attention(const Step& step) const {
        AttentionLayer layer{attention_shape(program), encodings, index, watch};
        if (step.weight < 0) return layer;
        const auto first = static_cast<std::size_t>(step.weight);
        layer.q_norm = weights.norms[first].weight;
        layer.k_norm = weights.norms[first + 1].weight;
        layer.norm_eps = program.plan.norm_eps;
        return layer;
    }
    AttentionLayer cross_attention() const { return {cross_attention_shape(program), no_encodings(), index, nullptr}; }

private:
    static const LayerEncodings& no_encodings();
};

// Steps of a program from `first` to before `last`; last < 0: to the end.
struct Steps {
    int first = 0, last = -1;

    std::span<const Step> of(const Program& program) const {
        const std::span<const Step> all = program.steps;
        const auto from = static_cast<std::size_t>(first), to = last < 0 ? all.size() : static_cast<std::size_t>(last);
        return all.subspan(from, to - from);
    }
};

// A program to run, with its weights. values: memory for each of its values, with as many rows as the sequences (see
// attention()). The first holds the input. Where others of its slot share its memory, they are computed in place.
struct LayerRun {
    Layer layer;
    std::span<const View> values;
    Steps steps = {};
};
// Runs programs one after the other. The first value of each must be the memory of the last value of the program before
// it, with as many rows.
void forward(std::span<const LayerRun> runs, const PassRows& in, const LayerScratch& scratch,
             const Dropout& dropout = {});
inline void forward(const LayerRun& run, const PassRows& in, const LayerScratch& scratch, const Dropout& dropout = {}) {
    forward(std::span(&run, 1), in, scratch, dropout);
}

// Computes the keys and values of an encoder's output `encoded` [n, d], and stores them in the layer's place in
// `memory`. kv: working memory [n, 2 kv_width].
void remember(const Layer& layer, View encoded, View kv, RowScratch& scratch, KvCache& memory);

// Views of all values of a program, in the memory of their slots.
using SlotMemory = std::array<View, slot_count>;
std::vector<View> lay_out(const Program& program, const SlotMemory& memory);

// values: the results of forward(), each in its own memory. gradients: memory for each slot. The slot of the last
// step's output holds its gradient, and the slot of the first value receives the gradient of the input. Adds to d.
struct GradientMemory {
    SlotMemory slots = {};
    // Keys and values [n, 2 kv_width] that cross-attention read, and the place for their gradient.
    View memory = {}, d_memory = {};
};
void backward(const Layer& layer, const PassRows& in, std::span<const View> values, const GradientMemory& gradients,
              AttentionGradient& attention, const LayerScratch& scratch, const LayerGradients& d,
              const Dropout& dropout = {}, const Steps& steps = {});

} // namespace ordo
