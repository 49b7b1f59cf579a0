// SPDX-License-Identifier: MIT
// A throw-away encoding with a sink for each query: the logit is w . q_i plus the sum of tanh over the row's scores,
// which RESCORE hands over. The scores themselves stay.
#include "encoding/base/registered.h"

#include <cmath>

namespace ordo {

const EncodingInfo throwaway_rest_encoding = {.name = "throwaway-rest",
                                              .summary = "gives each query a sink of its own",
                                              .paper = "none",
                                              .formula = "sink_i = w . q_i + sum_j tanh(s(i, j))",
                                              .make = throwaway_rest_file::make};

namespace throwaway_rest_file {

class ThrowawayRest final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    unsigned reads() const override { return reads_queries; }
    unsigned alone_at() const override { return moment_rescore; }
    std::vector<TensorSpec> tensors() const override { return {per_layer("weight", {dims().d_head})}; }

    void rescore(View scores, const Tile& tile) const override {
        float sum = 0;
        for (int j = 0; j < scores.cols; ++j) sum += std::tanh(scores.row(0)[j]);
        if (tile.rescored) *tile.rescored = sum;
    }
    void rescore_backward(View d_scores, View scores, const Tile&, const Gradients& gradient) const override {
        for (int j = 0; gradient.rescored && j < scores.cols; ++j) {
            const float t = std::tanh(scores.row(0)[j]);
            d_scores.row(0)[j] += *gradient.rescored * (1 - t * t);
        }
    }
    float sink(const Tile& query) const override {
        float sum = query.rescored ? *query.rescored : 0;
        for (int j = 0; j < query.q.cols; ++j) sum += tensor(slot(query.layer), 0).row(0)[j] * query.q.row(0)[j];
        return sum;
    }
    void sink_backward(float d_sink, const Tile& query, const Gradients& gradient) const override {
        if (gradient.rescored) *gradient.rescored += d_sink;
        for (int j = 0; j < query.q.cols; ++j) {
            gradient.q.row(0)[j] += d_sink * tensor(slot(query.layer), 0).row(0)[j];
            gradient.tensors[0].row(0)[j] += d_sink * query.q.row(0)[j];
        }
    }
    Operations operations(Moment moment, const Work& work) const override {
        if (moment == moment_rescore) return {.others = (operations_of_function + 1) * work.pairs};
        if (moment != moment_sink) return {};
        return {2.0 * dims().d_head * work.query_rows, (operations_of_function + 2) * work.query_rows};
    }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<ThrowawayRest>(dims);
}

} // namespace throwaway_rest_file
} // namespace ordo
