// SPDX-License-Identifier: MIT
#include "encoding/base/consecutive.h"
#include "encoding/base/distance_bias.h"
#include "encoding/base/pieces.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace ordo {

const EncodingInfo fire_encoding = {
    .name = "fire",
    .summary = "adds the output of a small network for the distance as a fraction of the position",
    .paper = "Li et al. 2024, arXiv 2310.04418",
    .formula = "score(i, j) = q_i . k_j * scale + f_h(ln(|c| D + 1) / ln(|c| M + 1))\n"
               "D = |p_i - p_j|,  M = max(|l| threshold, p_i, p_j),  f: a layer of `width` ReLU units, of each layer",
    .make = fire_file::make,
};

namespace fire_file {

constexpr int most_width = 256;
constexpr int most_prepared = 1 << 20; // distances
constexpr int most_position = std::numeric_limits<int>::max();
constexpr double epsilon = 1e-6;

enum TensorIndex { tensor_c, tensor_l, tensor_in_weight, tensor_in_bias, tensor_out_weight, tensor_out_bias };

double number(View tensor, int row = 0, int col = 0) {
    return static_cast<double>(tensor.row(row)[col]);
}

// Eq. 2, and the code of the appendix: it adds 1e-6 to the divisor. Where no position exceeds |l| threshold, M is a
// constant and the bias a table by distance. Beyond, the bias depends on the query, and is computed from the line
// segments of f (base/pieces.h).
class Fire final : public DistanceBias {
public:
    using DistanceBias::DistanceBias;
    void parameters(Params& p) override {
        p.integer("threshold", threshold_, 1, 1 << 30,
                  "positions up to it have the same bias at the same distance, as l starts at 1", "context");
        p.integer("width", width_, 1, most_width, "units of the hidden layer");
    }
    void ready() override { layers_.resize(slots(), {.threshold = 1.0 * threshold_}); }
    int shift_invariant_below() const override {
        double least = HUGE_VAL;
        for (const Layer& layer : layers_) least = std::min(least, layer.threshold);
        return least < most_position ? static_cast<int>(least) + 1 : most_position;
    }

    std::vector<TensorSpec> tensors() const override {
        return {per_layer("c", {1}, InitialValues::constant(0.1f)),
                per_layer("l", {1}, InitialValues::constant(1)),
                per_layer("in.weight", {width_, 1}, linear(1)),
                per_layer("in.bias", {width_}, linear(1)),
                per_layer("out.weight", {heads(), width_}, linear(width_)),
                per_head("out.bias", linear(width_))};
    }
    // The bias where no position exceeds the threshold.
    double value(int slot, int head, std::int64_t distance) const override {
        return f(layers_[slot], head, std::abs(distance), layers_[slot].threshold);
    }
    double between(int slot, int head, int query, int key) const override {
        return f(layers_[slot], head, std::abs(query - key), greatest(layers_[slot], std::max(query, key)));
    }
    void bind(int layer, std::span<const View> tensors) override {
        DistanceBias::bind(layer, tensors);
        read_tensors(slot(layer));
    }
    void prepare(int n_positions) override;

    void bias(View scores, const Tile& tile) const override;
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override;

    // Beyond the threshold: a quotient, the choice of its piece (two comparisons), a line and a sum.
    double operations_per_pair(const Work& work) const override {
        return work.positions <= shift_invariant_below() ? 1 : 6;
    }
    // function: x in steps of 1 / (length - 1), and f of all heads.
    std::vector<NamedTable> tables() const override {
        return {bias_table(), {"function", [this](const TableRequest& request) { return function_rows(request); }}};
    }

private:
    struct Layer {
        double c = 0, threshold = 0; // |c|, |l| threshold
        Pieces pieces = {};
        std::vector<double> logs = {}; // ln(|c| D + 1) of the first distances
    };
    struct Sums; // gradient sums by piece
    TableRows function_rows(const TableRequest& request) const;

    const Layer& layer_of(const Tile& tile) const { return layers_[slot(tile.layer)]; }
    void read_tensors(int slot);
    static double log_of(const Layer& layer, std::int64_t distance) {
        const auto at = static_cast<std::size_t>(distance);
        return at < layer.logs.size() ? layer.logs[at] : std::log1p(layer.c * static_cast<double>(distance));
    }
    static double divisor(const Layer& layer, double M) { return std::log1p(layer.c * M) + epsilon; }
    static double f(const Layer& layer, int head, std::int64_t D, double M) {
        const double x = log_of(layer, D) / divisor(layer, M);
        return layer.pieces.value(head, layer.pieces.piece(x), x);
    }
    static double greatest(const Layer& layer, double position) { return std::max(layer.threshold, position); } // M

    int threshold_ = std::max(1, dims().context), width_ = 32;
    std::vector<Layer> layers_; // of each slot
};

void Fire::read_tensors(int slot) {
    const std::span<const View> tensors = tensors_of(slot);
    Layer& layer = layers_[slot];
    layer.c = std::fabs(number(tensors[tensor_c]));
    layer.threshold = std::fabs(number(tensors[tensor_l])) * threshold_;
    layer.pieces.build(
        {tensors[tensor_in_weight], tensors[tensor_in_bias], tensors[tensor_out_weight], tensors[tensor_out_bias]});
    layer.logs.clear();
}

void Fire::prepare(int n_positions) {
    if (!bound()) return;
    const int n = std::min(n_positions, most_prepared);
    for (int slot = 0; slot < slots(); ++slot) {
        read_tensors(slot);
        Layer& layer = layers_[slot];
        for (int d = 0; d < n; ++d) layer.logs.push_back(std::log1p(layer.c * d));
    }
    DistanceBias::prepare(std::min(n_positions, shift_invariant_below()));
}

int greatest_position(Positions positions, bool in_order) {
    if (positions.empty()) return 0;
    if (in_order) return positions[positions.size() - 1];
    int most = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) most = std::max(most, positions[i]);
    return most;
}

void Fire::bias(View scores, const Tile& tile) const {
    const Layer& layer = layer_of(tile);
    const bool in_order = consecutive(tile.keys);
    const int most = std::max(greatest_position(tile.queries, false), greatest_position(tile.keys, in_order));
    if (most <= layer.threshold) return distances().add(scores, table_row(tile), tile, in_order);
    for (int i = 0; i < scores.rows; ++i) {
        const int query = tile.queries[i];
        const double limit = greatest(layer, query), of_query = divisor(layer, limit);
        int piece = 0;
        for (int j = 0; j < scores.cols; ++j) {
            const int key = tile.keys[j];
            const double x = log_of(layer, std::abs(query - key)) / (key <= limit ? of_query : divisor(layer, key));
            piece = layer.pieces.piece(x, piece);
            scores.row(i)[j] += static_cast<float>(layer.pieces.value(tile.head, piece, x));
        }
    }
}

// Sums by piece. f and its gradients are linear in x within a piece, so the tensors of f need only the sums of d and of
// d x.
struct Fire::Sums {
    const Layer& layer;
    int head;
    double dc = 0, dl = 0; // with respect to |c| and to the threshold
    std::array<double, most_width + 1> d = {}, dx = {};

    // gradient: of the bias at a distance, where M is `greatest`. share: the part of the threshold in M.
    void add(std::int64_t distance, double greatest, double divisor, double share, double gradient) {
        const double x = log_of(layer, distance) / divisor;
        const int piece = layer.pieces.piece(x);
        d[piece] += gradient;
        dx[piece] += gradient * x;
        const double by_log = gradient * layer.pieces.slope(head, piece) / divisor;
        const double by_divisor = -by_log * x / (layer.c * greatest + 1); // with respect to c M, inside the logarithm
        const double D = static_cast<double>(distance);
        dc += by_log * D / (layer.c * D + 1) + by_divisor * greatest;
        dl += share * by_divisor * layer.c;
    }
    void add_to(std::span<const View> grads, std::span<const View> tensors, int width, double threshold) const;
};

void Fire::Sums::add_to(std::span<const View> grads, std::span<const View> tensors, int width, double threshold) const {
    const auto sign = [&](TensorIndex i) { return number(tensors[i]) < 0 ? -1 : 1; };
    grads[tensor_c].row(0)[0] += static_cast<float>(dc * sign(tensor_c));
    grads[tensor_l].row(0)[0] += static_cast<float>(dl * sign(tensor_l) * threshold);
    double total = 0;
    for (int p = 0; p <= layer.pieces.last(); ++p) total += d[p];
    grads[tensor_out_bias].row(0)[head] += static_cast<float>(total);
    for (int w = 0; w < width; ++w) {
        double sum = 0, sum_x = 0; // over the pieces in which the unit is active
        for (int p = layer.pieces.first(w); p < layer.pieces.end(w); ++p) {
            sum += d[p];
            sum_x += dx[p];
        }
        const double out = number(tensors[tensor_out_weight], head, w);
        grads[tensor_out_weight].row(head)[w] += static_cast<float>(number(tensors[tensor_in_weight], w) * sum_x +
                                                                    number(tensors[tensor_in_bias], 0, w) * sum);
        grads[tensor_in_weight].row(w)[0] += static_cast<float>(out * sum_x);
        grads[tensor_in_bias].row(0)[w] += static_cast<float>(out * sum);
    }
}

void Fire::bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const {
    const Layer& layer = layer_of(tile);
    Sums sums{.layer = layer, .head = tile.head};
    if (std::max(greatest_position(tile.queries, false), greatest_position(tile.keys, false)) < layer.threshold) {
        const double of_all = divisor(layer, layer.threshold);
        sum_by_distance(d_scores, tile, [&](std::int64_t distance, float d) {
            sums.add(std::abs(distance), layer.threshold, of_all, 1, static_cast<double>(d));
        });
    } else {
        for (int i = 0; i < d_scores.rows; ++i)
            for (int j = 0; j < d_scores.cols; ++j) {
                const float d = d_scores.row(i)[j];
                if (d == 0) continue;
                const int query = tile.queries[i], key = tile.keys[j];
                const double later = std::max(query, key), M = greatest(layer, later);
                const double share = later < layer.threshold ? 1 : later == layer.threshold ? 0.5 : 0;
                sums.add(std::abs(query - key), M, divisor(layer, M), share, static_cast<double>(d));
            }
    }
    sums.add_to(gradient.tensors, tensors_of(slot(tile.layer)), width_, threshold_);
}

TableRows Fire::function_rows(const TableRequest& request) const {
    const Pieces& f = layers_[requested_slot(request)].pieces;
    std::vector<std::string> header = {"x"};
    for (int h = 0; h < heads(); ++h) header.push_back("head" + std::to_string(h));
    return make_table(std::move(header), request.length,
                      [&f, last = std::max(1, request.length - 1)](auto i, auto out) {
                          out[0] = static_cast<double>(i) / last;
                          for (std::size_t h = 1; h < out.size(); ++h)
                              out[h] = f.value(static_cast<int>(h) - 1, f.piece(out[0]), out[0]);
                      });
}

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Fire>(dims);
}

} // namespace fire_file
} // namespace ordo
