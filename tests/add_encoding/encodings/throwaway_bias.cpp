// SPDX-License-Identifier: MIT
// A throw-away that trains a bias in each layer: score(i, j) -= a_h ln(1 + |i - j|).
#include "encoding/registry.h"

#include <cmath>

namespace ordo {
namespace {

class ThrowawayBias final : public Encoding {
public:
    explicit ThrowawayBias(const Dims& dims)
        : n_heads_(dims.n_heads), slopes_(static_cast<std::size_t>(dims.n_layers)) {}
    std::string spec() const override { return "throwaway-bias"; }
    std::vector<std::string> table_parts() const override { return {}; } // it is in the weights
    unsigned moments() const override { return moment_bias; }

    std::vector<TensorSpec> tensors() const override {
        return {{.name = "slopes", .shape = {n_heads_}, .initial = InitialValues::uniform(0.5f, 1), .per_layer = true}};
    }
    void bind(int layer, std::span<const View> tensors) override {
        slopes_[static_cast<std::size_t>(layer)] = tensors[0];
    }

    void bias(View scores, const Tile& tile) const override {
        const float slope = slopes_[static_cast<std::size_t>(tile.layer)].row(0)[tile.head];
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j) scores.row(i)[j] -= slope * shape(tile, i, j);
    }
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override {
        double sum = 0;
        for (int i = 0; i < d_scores.rows; ++i)
            for (int j = 0; j < d_scores.cols; ++j)
                sum -= static_cast<double>(d_scores.row(i)[j]) * static_cast<double>(shape(tile, i, j));
        gradient.tensors[0].row(0)[tile.head] += static_cast<float>(sum);
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_bias ? (operations_of_function + 2) * work.pairs : 0};
    }

private:
    static float shape(const Tile& tile, int i, int j) {
        const double apart =
            static_cast<double>(tile.queries[static_cast<std::size_t>(i)]) - tile.keys[static_cast<std::size_t>(j)];
        return static_cast<float>(std::log1p(std::abs(apart)));
    }

    int n_heads_;
    std::vector<View> slopes_; // of each layer, [1, n_heads]
};

std::unique_ptr<Encoding> make(const SpecItem& item, const Dims& dims) {
    item.finish();
    return std::make_unique<ThrowawayBias>(dims);
}

} // namespace

extern const EncodingInfo throwaway_bias_encoding;
const EncodingInfo throwaway_bias_encoding = {.name = "throwaway-bias",
                                              .summary = "a penalty that grows with the logarithm of the distance",
                                              .paper = "none",
                                              .formula = "score(i, j) -= a_h ln(1 + |i - j|)",
                                              .moments = moment_bias,
                                              .shift_invariant = true,
                                              .trainable = true,
                                              .parameters = {},
                                              .make = make};

} // namespace ordo
