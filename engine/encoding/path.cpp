// SPDX-License-Identifier: MIT
#include "core/parallel.h"
#include "core/tensor.h"
#include "encoding/base/projection.h"
#include "encoding/base/registered.h"
#include "encoding/base/walk.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ordo {

const EncodingInfo path_encoding = {
    .name = "path",
    .summary = "reflects a query at each token on its way to a key, by a matrix from that token",
    .paper = "Yang et al. 2025, arXiv 2505.16381",
    .formula = "score(i, j) = scale * q_i^T H_i H_{i-1} .. H_{j+1} k_j,  H_t = I - beta_t w_t w_t^T\n"
               "w_t = silu(conv(U D x_t)) normed,  beta_t = 2 sigmoid(g . x_t + b);  x_t: the layer's normed input",
    .make = path_file::make,
};

namespace path_file {

constexpr int most_kernel = 8, tokens_at_once = 8;

// u = U D x, conv(u)_t = sum over m of c_m u_(t - kernel + 1 + m), and w = z / sqrt(|z|^2 + 1e-6). w and beta belong
// to a key/value head, whose query heads share them. The initial values are those of flash-linear-attention. With a
// bidirectional mask, H_(i+1) .. H_j act for a later key. Beside forget, it is the paper's PaTH-FoX.
//
// The state of a token is w [kv heads, d_head], beta [kv heads] and D x of the last `kernel` tokens, this one first.
class Path final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.integer("rank", rank_, 1, 1024, "columns of D x");
        p.integer("kernel", kernel_, 1, most_kernel, "tokens of the convolution");
    }
    void ready() override { check_walked(name(), e()); }
    unsigned reads() const override { return reads_queries | reads_keys | reads_state; }

    std::vector<TensorSpec> tensors() const override {
        return {per_layer("down", {rank_, dims().d_model}), per_layer("up", {columns(), rank_}),
                per_layer("convolution", {columns(), kernel_}), per_layer("gate", {kv_heads(), dims().d_model}),
                per_layer("gate_bias", {kv_heads()}, InitialValues::constant(0))};
    }

    int state_floats() const override { return low(kernel_); }
    void observe(View x, int layer, Positions, const float* before, View state) const override {
        const View down = tensor(slot(layer), 0), gate = tensor(slot(layer), 3), bias = tensor(slot(layer), 4);
        project(x, down, cols_of(state, low(0), rank_));
        project(x, gate, cols_of(state, columns(), kv_heads()));
        parallel_for((x.rows + tokens_at_once - 1) / tokens_at_once, 1, [&](std::ptrdiff_t block) {
            const int first = static_cast<int>(block) * tokens_at_once, n = std::min(tokens_at_once, x.rows - first);
            for (int t = first; t < first + n; ++t) {
                float* const beta = state.row(t) + columns();
                for (int g = 0; g < kv_heads(); ++g) beta[g] = 2 / (1 + std::exp(-(beta[g] + bias.row(0)[g])));
                for (int m = 1; m < kernel_; ++m) {
                    const float* earlier = m <= t   ? state.row(t - m) + low(0)
                                           : before ? before + low(m - t - 1)
                                                    : nullptr;
                    for (int k = 0; k < rank_; ++k) state.row(t)[low(m) + k] = earlier ? earlier[k] : 0;
                }
            }
            for (int g = 0; g < kv_heads(); ++g) {
                Convolved c(*this, layer, g, rows_of(state, first, n));
                for (int i = 0; i < n; ++i) {
                    c.convolve(i);
                    for (int k = 0; k < e(); ++k) state.row(first + i)[g * e() + k] = c.norm * c.active[k];
                }
            }
        });
    }
    bool observes_in_loops() const override { return true; }
    // With y = silu(z) and w = y / n:  dy = (dw - w (w . dw)) / n,  dz = dy silu'(z). The gradients of z, then of u,
    // take the place of w's, and those of D x the place of the first D x.
    void observe_backward(View d_state, View x, int layer, Positions, View state, View dx,
                          const Gradients& grads) const override {
        const View up = tensor(slot(layer), 1), convolution = tensor(slot(layer), 2);
        parallel_for(kv_heads(), 1, [&](std::ptrdiff_t group) {
            const int g = static_cast<int>(group), first = g * e();
            std::optional<Convolved> c;
            for (int t = 0; t < x.rows; ++t) {
                const int i = t % tokens_at_once;
                if (i == 0) c.emplace(*this, layer, g, rows_of(state, t, std::min(tokens_at_once, x.rows - t)));
                c->convolve(i);
                float *d = d_state.row(t) + first, &d_beta = d_state.row(t)[columns() + g];
                const float *w = state.row(t) + first, along = kernels().dot(e(), w, d);
                for (int k = 0; k < e(); ++k) d[k] = c->norm * (d[k] - along * w[k]);
                kernels().silu_grad(e(), c->sum, d);
                for (int k = 0; k < e(); ++k)
                    for (int m = 0; m < kernel_; ++m)
                        grads.tensors[2].row(first + k)[kernel_ - 1 - m] += d[k] * c->input(i - m)[k];
                const float beta = state.row(t)[columns() + g];
                d_beta *= beta * (1 - beta / 2);
                grads.tensors[4].row(0)[g] += d_beta;
            }
            for (int t = 0; t < x.rows; ++t)
                for (int k = 0; k < e(); ++k) {
                    float d = 0;
                    for (int m = 0; m < kernel_ && t + m < x.rows; ++m)
                        d += convolution.row(first + k)[kernel_ - 1 - m] * d_state.row(t + m)[first + k];
                    d_state.row(t)[first + k] = d;
                }
        });
        projection_backward(cols_of(d_state, columns(), kv_heads()), 1, x, tensor(slot(layer), 3), grads.tensors[3],
                            dx);
        const View d_low = cols_of(d_state, low(0), rank_);
        for (int t = 0; t < x.rows; ++t) std::fill_n(d_low.row(t), rank_, 0.0f);
        projection_backward(cols_of(d_state, 0, columns()), 1, cols_of(state, low(0), rank_), up, grads.tensors[1],
                            d_low);
        projection_backward(d_low, 1, x, tensor(slot(layer), 0), grads.tensors[0], dx);
    }

    bool can_move_keys() const override { return true; } // no state depends on positions
    bool rescores_tiles() const override { return walks_tiles(e()); }
    void rescore(View scores, const Tile& tile) const override { walk(scores, tile, reflection(tile)); }
    void rescore_backward(View d_scores, View, const Tile& tile, const Gradients& gradient) const override {
        walk_backward(d_scores, tile, gradient, reflection(tile));
    }

    Operations operations(Moment moment, const Work& work) const override {
        const double n = work.tokens;
        if (moment == moment_observe)
            return {2.0 * n * (dims().d_model * (rank_ + kv_heads()) + rank_ * columns()),
                    n * (columns() * (2.0 * kernel_ + operations_of_function + 4) +
                         kv_heads() * (2 * operations_of_function + 3))};
        return {.others = moment == moment_rescore ? (7.0 * e() + 3) * work.pairs : 0};
    }

    // beta of each head at x = 0.
    std::vector<NamedTable> tables() const override {
        return {by_head("table", {"head", "bias", "beta"}, [this](int slot, int head, auto out) {
            out[1] = at(slot, 4, group(head));
            out[2] = 2 / (1 + std::exp(-out[1]));
        })};
    }

private:
    // z of up to tokens_at_once tokens and a key/value head, from the rows D x in their states.
    struct Convolved {
        Convolved(const Path& of, int layer, int g, View states)
            : path(of), convolution(rows_of(of.tensor(of.slot(layer), 2), g * of.e(), of.e())) {
            const View up = rows_of(of.tensor(of.slot(layer), 1), g * of.e(), of.e());
            const auto dots = [&](int n, const float* x, std::ptrdiff_t stride, float* to, std::ptrdiff_t to_stride) {
                kernels().dots(n, up.rows, up.cols, up.data, up.stride, x, stride, to, to_stride);
            };
            dots(of.kernel_, states.row(0) + of.low(0), up.cols, input(0), -most_walk_columns); // and those before
            if (states.rows > 1)
                dots(states.rows - 1, states.row(1) + of.low(0), states.stride, input(1), most_walk_columns);
        }
        float* input(int i) { return inputs[most_kernel - 1 + i]; } // u of the i-th token
        void convolve(int i) {
            for (int k = 0; k < convolution.rows; ++k) {
                sum[k] = 0;
                for (int m = path.kernel_ - 1; m >= 0; --m)
                    sum[k] += convolution.row(k)[path.kernel_ - 1 - m] * input(i - m)[k];
            }
            kernels().silu(convolution.rows, sum, active);
            norm = 1 / std::sqrt(kernels().dot(convolution.rows, active, active) + 1e-6f);
        }

        const Path& path;
        View convolution;
        float inputs[most_kernel - 1 + tokens_at_once][most_walk_columns];
        float sum[most_walk_columns], active[most_walk_columns];
        float norm; // the factor that makes w of the active ones
    };

    int e() const { return dims().d_head; }
    int columns() const { return kv_heads() * e(); }
    int low(int back) const { return columns() + kv_heads() + back * rank_; } // D x of an earlier token in a state
    WalkState reflection(const Tile& tile) const { return {group(tile.head) * e(), columns() + group(tile.head)}; }

    int rank_ = 32, kernel_ = 3;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Path>(dims);
}

} // namespace path_file
} // namespace ordo
