// SPDX-License-Identifier: MIT
// A stack of layers as data: its plan, compiled to the few steps that it computes. Inference, training, the list of
// tensors and cost predictions all use these steps, so that compile() is the only place that implements a plan's
// options.
#pragma once

#include "layers/kinds.h"

#include <array>

namespace ordo {

struct LayerSizes {
    int n_layers = 0; // of the model; the initial weights of branches are shrunk by it
    int d_model = 0, n_heads = 0, n_kv_heads = 0, d_head = 0, d_ff = 0;

    int q_width() const { return n_heads * d_head; }
    int kv_width() const { return n_kv_heads * d_head; }
    int qkv_width() const { return q_width() + 2 * kv_width(); }
};

// Rows of activations between two steps. Each step writes a value of its own, which training keeps. Inference gives all
// values of one slot the same memory, as no step needs a value after a later one of its slot.
enum class Slot { stream, normed, branch, qkv, attended, hidden, active, narrow, logits };
inline constexpr int slot_count = 9;
struct Value {
    Slot slot;
    int width;
};

enum class Op {
    lookup,  // out = the rows of linears[weight] for the tokens, times `factor`
    embed,   // out = in after encoding `weight` of the stack embeds it
    shift,   // out = in mixed with earlier rows at place `first`; of the embedding, by encoding `weight` of the stack
    norm,    // out = norm(in) by norms[weight]
    linear,  // out = in W^T + b, linears[weight]
    bias,    // in += vectors[weight], from column `first` on
    clip,    // out = in clipped to +- plan.qkv_clip
    qk_norm, // out = in with queries and keys normalised by norms[weight] and norms[weight + 1]
    // out = attention of in (queries, keys, values), by heads; rotates in, and then normalises queries and keys by
    // norms[weight] and norms[weight + 1], if weight >= 0; encodings observe `other`
    attention,
    // Out = attention of in (queries), by heads, to the encoder's output, whose keys and values are remembered
    cross,
    activate, // out = f(in), or gated f(gate) * up
    gate,     // out = in, each row times sigmoid(other . vectors[weight])
    // Out = mixture of feed-forward branches, plus `other`, if any. linears[weight] is the router, then in and out of
    // each
    experts,
    add,     // out = in + other, a branch (training's dropout acts here)
    scale,   // out = in times `factor`
    soft_cap // out = factor * tanh(in / factor)
};
struct Step {
    Op op;
    int in, out;     // values
    int other = -1;  // a second input
    int weight = -1; // index of its tensor
    int first = 0;   // bias: column
    float factor = 1;
};

// The tensors of a program, by kind, with their names in the layer.
struct LinearSpec {
    std::string name; // "attention.qkv": NAME.weight [rows, cols] and, with a bias, NAME.bias [rows]
    int rows, cols;
    bool bias;
    float deviation;         // of the initial normal distribution
    std::string shares = {}; // the matrix whose weights it uses

    std::string weight_name(const std::string& prefix) const {
        return (shares.empty() ? prefix + name : shares) + ".weight";
    }
};
struct NormSpec {
    std::string name; // NAME.weight [width], NAME.bias [width]
    int width;
    bool bias;
};
struct VectorSpec {
    std::string name; // [width]
    int width;
};

struct Program {
    LayerPlan plan;
    LayerSizes sizes;
    std::vector<Value> values; // the first is the input, the last the output
    std::vector<Step> steps;
    std::vector<LinearSpec> linears;
    std::vector<NormSpec> norms;
    std::vector<VectorSpec> vectors;
    std::vector<TensorSpec> tensors; // all of these, in the order and by the names of files

    // The index in linears of the matrix for the keys and values [n, 2 kv_width] of the encoder's output; -1: no
    // cross-attention.
    int memory = -1;
    // The step that multiplies with the head's matrix; -1: none.
    int logits = -1;

    float score_scale() const;
    // The widest row, in floats, that is multiplied with a matrix.
    int widest_input() const;
};

// sizes: of the model; the program's sizes are the layer's.
// places: the bits of those at which encodings shift, 1 << place.
Program compile(const LayerPlan& plan, LayerSizes sizes, unsigned places = 0);

// From tokens to logits. The output of one program is the input of the next; layer i runs layers[i % size].
struct StackProgram {
    Program enter; // to the input of the first layer
    std::vector<Program> layers;
    // The norm after the last layer, and the steps after it to the logits. Without steps if there is none.
    Program finish, head;
    int distinct_layers = 0; // layer i has the weights of layer i % distinct_layers; 0: its own

    int n_layers() const { return enter.sizes.n_layers; }
    const Program& layer(int i) const { return layers[static_cast<std::size_t>(i) % layers.size()]; }
    int stored_layers() const { return distinct_layers != 0 ? distinct_layers : n_layers(); }
    // The beginning of the names of a layer's tensors.
    std::string layer_prefix(int i) const { return "layers." + std::to_string(i % stored_layers()) + "."; }
    // The widest value of each slot.
    std::array<int, slot_count> widths() const;
};

} // namespace ordo
