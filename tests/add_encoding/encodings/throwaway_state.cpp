// SPDX-License-Identifier: MIT
// A throw-away encoding with a state: score(i, j) -= |c_i - c_j|, c_t = c_(t-1) + sigmoid(w . x_t), with w in each
// layer.
#include "encoding/base/registered.h"

#include <cmath>

namespace ordo {

const EncodingInfo throwaway_state_encoding = {.name = "throwaway-state",
                                               .summary = "a penalty for all that lies between and counts",
                                               .paper = "none",
                                               .formula =
                                                   "score(i, j) -= |c_i - c_j|,  c_t = c_(t-1) + sigmoid(w . x_t)",
                                               .make = throwaway_state_file::make};

namespace throwaway_state_file {

double dot(View a, const float* b) {
    double sum = 0;
    for (int j = 0; j < a.cols; ++j) sum += static_cast<double>(a.row(0)[j]) * static_cast<double>(b[j]);
    return sum;
}

class ThrowawayState final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    unsigned reads() const override { return reads_state; }

    std::vector<TensorSpec> tensors() const override { return {per_layer("weight", {dims().d_model})}; }

    int state_floats() const override { return 1; }
    void observe(View x, int layer, Positions, const float* before, View state) const override {
        float sum = before ? *before : 0;
        for (int t = 0; t < x.rows; ++t) {
            sum += static_cast<float>(gate(layer, x.row(t)));
            state.row(t)[0] = sum;
        }
    }
    // d gate_t is the sum of all d c from t on.
    void observe_backward(View d_state, View x, int layer, Positions, View, View dx,
                          const Gradients& grads) const override {
        double d_sum = 0;
        for (int t = x.rows - 1; t >= 0; --t) {
            d_sum += static_cast<double>(d_state.row(t)[0]);
            const double f = gate(layer, x.row(t));
            const auto dz = static_cast<float>(d_sum * f * (1 - f));
            for (int j = 0; j < x.cols; ++j) {
                dx.row(t)[j] += dz * tensor(slot(layer), 0).row(0)[j];
                grads.tensors[0].row(0)[j] += dz * x.row(t)[j];
            }
        }
    }

    void bias(View scores, const Tile& tile) const override {
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j)
                scores.row(i)[j] -= std::abs(tile.query_state.row(i)[0] - tile.key_state.row(j)[0]);
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        for (int i = 0; i < d_scores.rows; ++i)
            for (int j = 0; j < d_scores.cols; ++j) {
                const bool after = tile.query_state.row(i)[0] >= tile.key_state.row(j)[0];
                const float d = after ? d_scores.row(i)[j] : -d_scores.row(i)[j];
                gradient.query_state.row(i)[0] -= d;
                gradient.key_state.row(j)[0] += d;
            }
    }

    Operations operations(Moment moment, const Work& work) const override {
        const double per_token = operations_of_function + 3;
        if (moment == moment_observe) return {2.0 * dims().d_model * work.tokens, per_token * work.tokens};
        return {.others = moment == moment_bias ? 3 * work.pairs : 0};
    }

private:
    double gate(int layer, const float* x) const { return 1 / (1 + std::exp(-dot(tensor(slot(layer), 0), x))); }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayState>(dims);
}

} // namespace throwaway_state_file
} // namespace ordo
