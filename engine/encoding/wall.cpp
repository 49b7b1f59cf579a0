// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "encoding/base/projection.h"
#include "encoding/base/registered.h"
#include "encoding/base/walk.h"
#include "kernels/kernels.h"

#include <cmath>

namespace ordo {

const EncodingInfo wall_encoding = {
    .name = "wall",
    .summary = "lets each column of a score decay by its own gates of the tokens in between",
    .paper = "Tilde Research 2026, blog.tilderesearch.com, 2 June",
    .formula = "score(i, j) = scale * sum_c q_ic k_jc prod_{t=j+1..i} f_tc,  f_t = sigmoid(W x_t + b)\n"
               "x_t: the layer's normed input; a gate for each column of each head",
    .make = wall_file::make,
};

namespace wall_file {

// flash-linear-attention starts b at 8, near plain attention; gates of 1 are no encoding. With a bidirectional mask
// the tokens between the two act as well. The state of a token is 1 - f, which is exact near gates of 1. A query is
// multiplied with the gates on its way from key to key, instead of with exponentials of differences of sums. It cannot
// overflow.
class Wall final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void ready() override { check_walked(name(), dims().d_head); }
    unsigned reads() const override { return reads_queries | reads_keys | reads_state; }

    std::vector<TensorSpec> tensors() const override {
        return {per_layer("weight", {columns(), dims().d_model}),
                per_layer("bias", {columns()}, InitialValues::constant(8))};
    }

    int state_floats() const override { return columns(); }
    void observe(View x, int layer, Positions, const float*, View state) const override {
        const View weight = tensor(slot(layer), 0), bias = tensor(slot(layer), 1);
        project(x, weight, state);
        parallel_for(x.rows, 16, [&](std::ptrdiff_t i) {
            float* row = state.row(static_cast<int>(i));
            for (int c = 0; c < columns(); ++c) row[c] = -(row[c] + bias.row(0)[c]);
            kernels().sigmoid(columns(), row, row);
        });
    }
    bool observes_in_loops() const override { return true; }
    // With s = 1 - f = sigmoid(-z):  d z = -d s s (1 - s)
    void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                          const Gradients& grads) const override {
        for (int t = 0; t < x.rows; ++t) {
            float *d = d_state.row(t), *d_bias = grads.tensors[1].row(0);
            const float* s = state.row(t);
            for (int c = 0; c < columns(); ++c) {
                d[c] *= -s[c] * (1 - s[c]);
                d_bias[c] += d[c];
            }
        }
        projection_backward(d_state, 1, x, tensor(slot(layer), 0), grads.tensors[0], dx);
    }

    bool can_move_keys() const override { return true; } // no state knows its position
    bool rescores_tiles() const override { return walks_tiles(dims().d_head); }
    void rescore(View scores, const Tile& tile) const override { walk(scores, tile, forgotten(tile)); }
    void rescore_backward(View d_scores, View, const Tile& tile, const Gradients& gradient) const override {
        walk_backward(d_scores, tile, gradient, forgotten(tile));
    }

    Operations operations(Moment moment, const Work& work) const override {
        const double n = work.tokens * columns();
        if (moment == moment_observe) return {2.0 * dims().d_model * n, (operations_of_function + 2) * n};
        return {.others = moment == moment_rescore ? (5.0 * dims().d_head + 2) * work.pairs : 0};
    }

    // The gates of each head in a layer at x = 0.
    std::vector<NamedTable> tables() const override {
        std::vector<std::string> header = {"head"};
        for (int c = 0; c < dims().d_head; ++c) header.push_back("dim" + std::to_string(c));
        return {by_head("table", header, [this](int slot, int head, auto out) {
            for (int c = 0; c < dims().d_head; ++c)
                out[c + 1] = 1 / (1 + std::exp(-static_cast<double>(at(slot, 1, head * dims().d_head + c))));
        })};
    }

private:
    int columns() const { return heads() * dims().d_head; }
    WalkState forgotten(const Tile& tile) const { return {tile.head * dims().d_head}; }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Wall>(dims);
}

} // namespace wall_file
} // namespace ordo
