// SPDX-License-Identifier: MIT
// A stack of layers as data: its plan, compiled to the few steps that it computes. Inference, training, the list of
// tensors and predicted costs all walk over these steps, so that a choice of the plan is written in one place,
// compile().
#pragma once

#include "layers/kinds.h"

#include <array>

namespace ordo {

struct LayerSizes {
    int n_layers = 0; // of the model; its branches are shrunk by it when training starts
    int d_model = 0, n_heads = 0, n_kv_heads = 0, d_head = 0, d_ff = 0;

    int q_width() const { return n_heads * d_head; }
    int kv_width() const { return n_kv_heads * d_head; }
    int qkv_width() const { return q_width() + 2 * kv_width(); }
};

// Rows of activations between two steps. Each step writes a value of its own, which training keeps; inference
// lays the values of one slot over each other, as no step needs a value that a later one of its slot replaces.
enum class Slot { stream, normed, branch, qkv, attended, hidden, active, narrow, logits };
inline constexpr int slot_count = 9;
struct Value {
    Slot slot;
    int width;
};

enum class Op {
    lookup,    // out = the rows of linears[weight] that the tokens name, times `factor`
    embed,     // out = in as encoding `weight` of the stack embeds it
    norm,      // out = norm(in) by norms[weight]
    linear,    // out = in W^T + b, linears[weight]
    bias,      // in += vectors[weight], from column `first` on
    clip,      // out = in cut off at plan.qkv_clip and its negative
    qk_norm,   // out = in with queries and keys normalised by norms[weight] and norms[weight + 1]
    attention, // out = what the heads of in (queries, keys, values) gather; rotates in; encodings observe `other`
    // Out = what the heads of in (queries) gather from the encoder's output, whose keys and values are remembered
    cross,
    activate, // out = f(in), or gated f(gate) * up
    gate,     // out = in, each row times sigmoid(other . vectors[weight])
    // Out = mixture of feed-forward branches: linears[weight] is the router, then in and out of each; and other, if any
    experts,
    add,     // out = in + other, a branch (where training drops out)
    scale,   // out = in times `factor`
    soft_cap // out = factor * tanh(in / factor)
};
struct Step {
    Op op;
    int in, out;     // values
    int other = -1;  // a second value that is read
    int weight = -1; // index of what it is computed with
    int first = 0;   // bias: column
    float factor = 1;
};

// The tensors of a program, by kind, under their names within the layer.
struct LinearSpec {
    std::string name; // "attention.qkv": NAME.weight [rows, cols] and, with a bias, NAME.bias [rows]
    int rows, cols;
    bool bias;
    float deviation;         // of the normal distribution that training starts from
    std::string shares = {}; // another matrix, which it is

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
    std::vector<Value> values; // the first is what comes in, the last what leaves
    std::vector<Step> steps;
    std::vector<LinearSpec> linears;
    std::vector<NormSpec> norms;
    std::vector<VectorSpec> vectors;
    std::vector<TensorSpec> tensors; // of all of these, as files have them: "attention_norm.weight", ...

    // The index in linears of what makes keys and values [n, 2 kv_width] of the encoder's output; -1: no
    // cross-attention.
    int memory = -1;
    // The step that multiplies with the head's matrix; -1: none.
    int logits = -1;

    float score_scale() const;
    // Floats of the widest row that meets a matrix.
    int widest_input() const;
};

// sizes: the model's; those of the program are the layer's.
Program compile(const LayerPlan& plan, LayerSizes sizes);

// From tokens to logits. What one program leaves comes into the next; layer i runs layers[i % size].
struct StackProgram {
    Program enter; // to what the first layer reads
    std::vector<Program> layers;
    // The norm after the last layer, and from there to the logits. No steps: there is none.
    Program finish, head;

    int n_layers() const { return enter.sizes.n_layers; }
    const Program& layer(int i) const { return layers[static_cast<std::size_t>(i) % layers.size()]; }
    // The widest value of each slot.
    std::array<int, slot_count> widths() const;
};

} // namespace ordo
