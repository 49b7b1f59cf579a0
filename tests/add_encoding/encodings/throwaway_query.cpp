// SPDX-License-Identifier: MIT
// A throw-away encoding with a state of the query alone, which the cache does not keep:
// score(i, j) -= s_i ln(1 + |i - j|), s_i = w . x_i.
#include "encoding/base/projection.h"
#include "encoding/base/registered.h"

#include <cmath>

namespace ordo {

const EncodingInfo throwaway_query_encoding = {.name = "throwaway-query",
                                               .summary = "a penalty that each query chooses",
                                               .paper = "none",
                                               .formula = "score(i, j) -= (w . x_i) ln(1 + |i - j|)",
                                               .make = throwaway_query_file::make};

namespace throwaway_query_file {

class ThrowawayQuery final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    unsigned reads() const override { return reads_query_state; }
    std::vector<TensorSpec> tensors() const override { return {per_layer("weight", {dims().d_model})}; }

    int state_floats() const override { return 1; }
    void observe(View x, int layer, Positions, const float*, View state) const override {
        project(x, tensor(slot(layer), 0), state);
    }
    void observe_backward(View d_state, View x, int layer, Positions, View, View dx,
                          const Gradients& grads) const override {
        projection_backward(d_state, 1, x, tensor(slot(layer), 0), grads.tensors[0], dx);
    }

    void bias(View scores, const Tile& tile) const override {
        for (int i = 0; i < scores.rows; ++i)
            for (int j = 0; j < scores.cols; ++j) scores.row(i)[j] -= tile.query_state.row(i)[0] * shape(tile, i, j);
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        for (int i = 0; i < d_scores.rows; ++i)
            for (int j = 0; j < d_scores.cols; ++j)
                gradient.query_state.row(i)[0] -= d_scores.row(i)[j] * shape(tile, i, j);
    }
    Operations operations(Moment moment, const Work& work) const override {
        if (moment == moment_observe) return {2.0 * dims().d_model * work.tokens, 0};
        return {.others = moment == moment_bias ? (operations_of_function + 4) * work.pairs : 0};
    }

private:
    static float shape(const Tile& tile, int i, int j) {
        return static_cast<float>(std::log1p(std::fabs(1.0 * tile.queries[i] - tile.keys[j])));
    }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayQuery>(dims);
}

} // namespace throwaway_query_file
} // namespace ordo
