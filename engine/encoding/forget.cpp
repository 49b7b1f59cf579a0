// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "core/tensor.h"
#include "encoding/base/float_pair.h"
#include "encoding/base/projection.h"
#include "encoding/base/registered.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {

const EncodingInfo forget_encoding = {
    .name = "forget",
    .summary = "lowers scores by the forgetting gates of the tokens in between",
    .paper = "Lin et al. 2025, arXiv 2503.02130",
    .formula = "score(i, j) = q_i . k_j * scale + sum_{l=j+1..i} ln sigmoid(w_h . x_l + b_h)\n"
               "x_l: the layer's normed input; kept as a running sum for each head",
    .make = forget_file::make,
};

namespace forget_file {

double log_sigmoid(double z) {
    return z < 0 ? z - std::log1p(std::exp(z)) : -std::log1p(std::exp(-z));
}

// Gates of 1 are no encoding. A constant gate f is ALiBi with the slope -ln f. With a bidirectional mask, the bias is
// -|c_i - c_j|, from the tokens between the two as well. The weights start as in the authors' code.
//
// The state of a token is c_t of each head, as two floats whose sum it is, [n_heads, 2]. c grows with the sequence,
// while the bias needs differences of neighbouring values, for which one float is too inexact.
class Forget final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.unless(start_ == 0).number("start", start_, -100, 100, "the biases of the gates before training");
    }
    unsigned reads() const override { return reads_state; }

    std::vector<TensorSpec> tensors() const override {
        return {per_layer("gate.weight", {heads(), dims().d_model}),
                per_head("gate.bias", InitialValues::constant(static_cast<float>(start_)))};
    }

    int state_floats() const override { return 2 * heads(); }
    void observe(View x, int layer, Positions, const float* before, View state) const override {
        const View weight = tensor(slot(layer), 0), bias = tensor(slot(layer), 1);
        project(x, weight, cols_of(state, 0, heads()));
        parallel_for(x.rows, 16, [&](std::ptrdiff_t t) {
            float* row = state.row(static_cast<int>(t));
            // The heads are in descending order, because a head's pair overwrites the products of later heads.
            for (int h = heads() - 1; h >= 0; --h)
                split_pair(log_sigmoid(static_cast<double>(row[h]) + static_cast<double>(bias.row(0)[h])), row + 2 * h);
        });
        add_up(heads(), before, state);
    }
    bool observes_in_loops() const override { return true; }
    // d_state of a pair's high part is the gradient of c. The low part is the rounding error of the high part, and has
    // no gradient.
    //   d ln f_t = sum over s >= t of d c_s;  d z_t = d ln f_t (1 - f_t),  z = w . x + b
    void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                          const Gradients& grads) const override {
        const View weight = tensor(slot(layer), 0);
        parallel_for(heads(), std::max(1, 1024 / std::max(1, x.rows)), [&](std::ptrdiff_t h) {
            double d_log = 0, d_bias = 0;
            for (int t = x.rows - 1; t >= 0; --t) {
                d_log += static_cast<double>(d_state.row(t)[2 * h]);
                const double log_gate =
                    pair_sum(state.row(t) + 2 * h) - (t > 0 ? pair_sum(state.row(t - 1) + 2 * h) : 0);
                const double dz = d_log * -std::expm1(log_gate);
                d_state.row(t)[2 * h] = static_cast<float>(dz);
                d_bias += dz;
            }
            grads.tensors[1].row(0)[h] += static_cast<float>(d_bias);
        });
        projection_backward(d_state, 2, x, weight, grads.tensors[0], dx);
    }

    bool can_move_keys() const override { return true; } // differences of sums stay the same
    void bias(View scores, const Tile& tile) const override {
        for (int first = 0; first < scores.cols; first += most_keys) {
            const Keys keys(tile, first);
            for (int i = 0; i < scores.rows; ++i) {
                const float* query = tile.query_state.row(i) + 2 * tile.head;
                float* row = scores.row(i) + first;
                for (int j = 0; j < keys.n; ++j) row[j] -= std::fabs(keys.difference(query, j));
            }
        }
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        const auto add = [&](float* pair, double d) {
            pair[0] += static_cast<float>(d);
            pair[1] += static_cast<float>(d);
        };
        for (int first = 0; first < d_scores.cols; first += most_keys) {
            const Keys keys(tile, first);
            double d_keys[most_keys] = {};
            for (int i = 0; i < d_scores.rows; ++i) {
                const float *query = tile.query_state.row(i) + 2 * tile.head, *d_row = d_scores.row(i) + first;
                double d_query = 0;
                for (int j = 0; j < keys.n; ++j) {
                    const double d = static_cast<double>(keys.difference(query, j) <= 0 ? d_row[j] : -d_row[j]);
                    d_query += d;
                    d_keys[j] -= d;
                }
                add(gradient.query_state.row(i) + 2 * tile.head, d_query);
            }
            for (int j = 0; j < keys.n; ++j) add(gradient.key_state.row(first + j) + 2 * tile.head, d_keys[j]);
        }
    }

    Operations operations(Moment moment, const Work& work) const override {
        const double gates = work.tokens * heads(); // differences are of pairs of floats
        if (moment == moment_observe) return {2.0 * dims().d_model * gates, (2 * operations_of_function + 2) * gates};
        return {.others = moment == moment_bias ? 4 * work.pairs : 0};
    }

    // The gates of a layer at x = 0.
    std::vector<NamedTable> tables() const override {
        const auto gates = [this](int slot, int head, auto out) {
            out[1] = at(slot, 1, head);
            out[2] = std::exp(log_sigmoid(out[1]));
        };
        return {by_head("table", {"head", "bias", "gate"}, gates)};
    }

private:
    double start_ = 0;
    static constexpr int most_keys = 256;
    // The sums of some keys for one head, as arrays.
    struct Keys {
        Keys(const Tile& tile, int first) : n(std::min(most_keys, tile.key_state.rows - first)) {
            for (int j = 0; j < n; ++j) {
                const float* pair = tile.key_state.row(first + j) + 2 * tile.head;
                high[j] = pair[0];
                low[j] = pair[1];
            }
        }
        // c_query - c_key. The high parts of neighbouring keys are subtracted without rounding.
        float difference(const float* query, int j) const { return (query[0] - high[j]) + (query[1] - low[j]); }

        int n;
        float high[most_keys], low[most_keys];
    };
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Forget>(dims);
}

} // namespace forget_file
} // namespace ordo
