// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "encoding/base/registered.h"
#include "kernels/kernels.h"

#include <algorithm>
#include <cmath>

namespace ordo {

const EncodingInfo stick_breaking_encoding = {
    .name = "stick-breaking",
    .summary = "lets each key, the nearest first, take a share of the weight that nearer ones left",
    .paper = "Tan et al. 2025, arXiv 2410.17980",
    .formula = "weight(i, j) = b_j prod_{j<k<i} (1 - b_k),  b = sigmoid(score(i, .)),  for j < i\n"
               "the rest, prod_{k<i} (1 - b_k), goes nowhere; the own key has no weight",
    .make = stick_breaking_file::make,
};

namespace stick_breaking_file {

constexpr int at_once = 128; // keys

// As in the authors' sb_ref.py. In logarithms, with softplus(s) = -ln(1 - b) and ln b = s - softplus(s):
//   s_j <- s_j - C_j,  C_j = sum over j <= k < i of softplus(s_k);  the own score <- -infinity;  sink <- -C_0
// Then the denominator of the softmax is 1, and its weights are exactly those of the formula.
//   dL/ds_k = ds_k - b_k (sum over j <= k of ds_j + d sink)
class StickBreaking final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void ready() override {
        if (dims().mask != Mask::causal)
            fail(ErrorCode::usage, "stick-breaking: expected a causal model, found a bidirectional one");
    }
    // A later change of the scores would leave the weights with another sum.
    unsigned alone_at() const override { return moment_rescore; }

    void rescore(View scores, const Tile& tile) const override {
        float* const s = scores.row(0);
        const int keys = scores.cols - 1; // without the query's own
        double sum = 0;
        for (int end = keys; end > 0;) {
            const int first = std::max(0, end - at_once);
            float part[at_once];
            kernels().softplus(end - first, s + first, part);
            for (int j = end - 1; j >= first; --j) {
                sum += static_cast<double>(part[j - first]);
                s[j] = static_cast<float>(static_cast<double>(s[j]) - sum);
            }
            end = first;
        }
        s[keys] = -HUGE_VALF;
        if (tile.rescored) *tile.rescored = static_cast<float>(-sum);
    }
    void rescore_backward(View d_scores, View scores, const Tile&, const Gradients& gradient) const override {
        float* const ds = d_scores.row(0);
        const int keys = d_scores.cols - 1;
        double sum = gradient.rescored ? static_cast<double>(*gradient.rescored) : 0;
        for (int first = 0; first < keys; first += at_once) {
            const int n = std::min(at_once, keys - first);
            float shares[at_once];
            kernels().sigmoid(n, scores.row(0) + first, shares);
            for (int j = 0; j < n; ++j) {
                sum += static_cast<double>(ds[first + j]);
                ds[first + j] -= static_cast<float>(sum * static_cast<double>(shares[j]));
            }
        }
        ds[keys] = 0;
    }
    float sink(const Tile& query) const override { return query.rescored ? *query.rescored : -HUGE_VALF; }
    void sink_backward(float d_sink, const Tile&, const Gradients& gradient) const override {
        if (gradient.rescored) *gradient.rescored += d_sink;
    }

    // A sigmoid, a logarithm, two sums and a comparison for each pair.
    Operations operations(Moment moment, const Work& work) const override {
        if (moment == moment_rescore) return {.others = (2 * operations_of_function + 3) * work.pairs};
        return {.others = moment == moment_sink ? (operations_of_function + 1) * work.query_rows : 0};
    }
    // The weight of each key, and the rest of the stick, if all scores are 0.
    std::vector<NamedTable> tables() const override {
        return {by_position("table", {"distance", "weight", "rest"}, [](int distance, auto out) {
            out[1] = distance == 0 ? 0 : std::exp2(-distance);
            out[2] = std::exp2(-distance);
        })};
    }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<StickBreaking>(dims);
}

} // namespace stick_breaking_file
} // namespace ordo
