// SPDX-License-Identifier: MIT
#include "core/tensor.h"
#include "encoding/base/distance_bias.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ordo {

const EncodingInfo dpb_encoding = {
    .name = "dpb",
    .summary = "adds the output of a small network for the signed distance",
    .paper = "Wang et al. 2022, arXiv 2108.00154; Liu et al. 2022, arXiv 2111.09883",
    .formula = "score(i, j) = q_i . k_j * scale + f_h(z),  z = sign(D) ln(1 + |D|), or D;  D = p_i - p_j\n"
               "f: `depth` layers of `width` SiLU units and an output for each head, the same in all layers",
    .make = dpb_file::make,
};

namespace dpb_file {

constexpr int most_width = 256;
constexpr int at_once = 64; // distances
enum TensorIndex { in_weight, in_bias, out_weight, out_bias, hidden_weight, hidden_bias };
using Units = std::array<double, most_width>;

class Dpb final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    void parameters(Params& p) override {
        p.integer("width", width_, 1, most_width, "units of a hidden layer");
        p.integer("depth", depth_, 1, 2, "hidden layers");
        p.choice("distance", linear_, {"log", "linear"}, "the network's input: sign(D) ln(1 + |D|), or D");
    }
    std::vector<TensorSpec> tensors() const override {
        const auto tensor = [](const char* name, std::vector<std::int64_t> shape, int inputs) {
            return TensorSpec{.name = name, .shape = std::move(shape), .initial = linear(inputs)};
        };
        const int w = width_;
        std::vector<TensorSpec> all = {tensor("in.weight", {w, 1}, 1),        tensor("in.bias", {w}, 1),
                                       tensor("out.weight", {heads(), w}, w), tensor("out.bias", {heads()}, w),
                                       tensor("hidden.weight", {w, w}, w),    tensor("hidden.bias", {w}, w)};
        all.resize(depth_ == 1 ? 4 : 6);
        return all;
    }
    double value(int, int head, std::int64_t distance) const override {
        const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
        Units h, below;
        for (int u = 0; u < width_; ++u) h[u] = silu(number(in_weight, u) * input(distance) + number(in_bias, 0, u));
        if (depth_ == 2) {
            below = h;
            for (int u = 0; u < width_; ++u) h[u] = silu(dot(hidden_weight, u, below) + number(hidden_bias, 0, u));
        }
        return dot(out_weight, head, h) + number(out_bias, 0, head);
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        std::vector<float> z, d;
        sum_by_distance(d_scores, tile, [&](std::int64_t distance, float sum) {
            z.push_back(static_cast<float>(input(distance)));
            d.push_back(sum);
        });
        const int all = static_cast<int>(z.size());
        for (int first = 0; first < all; first += at_once)
            backward(std::min(at_once, all - first), &z[first], &d[first], tile.head, gradient.tensors);
    }

private:
    double input(std::int64_t distance) const {
        const auto D = static_cast<double>(distance);
        return linear_ ? D : std::copysign(std::log1p(std::abs(D)), D);
    }
    double number(TensorIndex i, int row, int col = 0) const { return static_cast<double>(tensor(0, i).row(row)[col]); }
    double dot(TensorIndex i, int row, const Units& h) const {
        double sum = 0;
        for (int u = 0; u < width_; ++u) sum += number(i, row, u) * h[u];
        return sum;
    }
    // Replaces x by silu(x + bias). With s = sigmoid(x), silu(x) = x s, and its slope is s (1 + x (1 - s)).
    void activate(TensorIndex bias, View x, View slopes) const {
        for (int i = 0; i < x.rows; ++i) {
            kernels().add(width_, tensor(0, bias).data, x.row(i));
            kernels().sigmoid(width_, x.row(i), slopes.row(i));
            for (int u = 0; u < width_; ++u) {
                const float s = slopes.row(i)[u], y = x.row(i)[u] *= s;
                slopes.row(i)[u] = s + y * (1 - s);
            }
        }
    }
    // Adds the gradients of the tensors, from those of the biases, d, for n inputs z.
    void backward(int n, const float* z, const float* d, int head, std::span<const View> grads) const {
        const Kernels& k = kernels();
        const int w = width_;
        Tensor memory(5 * n, w);
        const auto rows = [&](int i) { return rows_of(memory.view(), i * n, n); };
        const View first = rows(0), slopes = rows(1), second = rows(2), d_second = rows(3), d_first = rows(4);
        for (int i = 0; i < n; ++i) k.axpy(w, z[i], tensor(0, in_weight).data, first.row(i));
        activate(in_bias, first, slopes);
        if (depth_ == 2) {
            k.dots(n, w, w, tensor(0, hidden_weight).data, w, first.data, w, second.data, w);
            activate(hidden_bias, second, d_second);
        }
        // From the outputs of the last layer to the inputs of its units, whose slopes are overwritten.
        const View last = depth_ == 2 ? second : first, d_last = depth_ == 2 ? d_second : slopes;
        for (int i = 0; i < n; ++i) {
            grads[out_bias].row(0)[head] += d[i];
            k.axpy(w, d[i], last.row(i), grads[out_weight].row(head));
            for (int u = 0; u < w; ++u) d_last.row(i)[u] *= d[i] * tensor(0, out_weight).row(head)[u];
        }
        if (depth_ == 2) {
            for (int i = 0; i < n; ++i) k.add(w, d_second.row(i), grads[hidden_bias].data);
            k.product(w, w, n, 1, d_second.data, 1, w, first.data, w, 1, grads[hidden_weight].data, w);
            k.product(n, w, w, 1, d_second.data, w, 1, tensor(0, hidden_weight).data, w, 0, d_first.data, w);
            for (int i = 0; i < n * w; ++i) slopes.data[i] *= d_first.data[i];
        }
        for (int i = 0; i < n; ++i) {
            k.add(w, slopes.row(i), grads[in_bias].data);
            k.axpy(w, z[i], slopes.row(i), grads[in_weight].data);
        }
    }

    int width_ = 32, depth_ = 2;
    bool linear_ = false;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Dpb>(dims);
}

} // namespace dpb_file
} // namespace ordo
