// SPDX-License-Identifier: MIT
#include "encoding/base/registered.h"

namespace ordo {

const EncodingInfo sink_encoding = {
    .name = "sink",
    .summary = "lets a head attend to nothing, by a trained logit in the softmax's denominator",
    .paper = "OpenAI 2025, arXiv 2508.10925; Xiao et al. 2024, arXiv 2309.17453",
    .formula = "weight(i, j) = exp(score(i, j)) / (exp(s_h) + sum_l exp(score(i, l)))\n"
               "s_h = logit[h] of the layer; it has no value",
    .make = sink_file::make,
};

namespace sink_file {

// s_h = -inf is the plain softmax. A sink encodes no order: a model combines it with an encoding that does, or learns
// order from its mask. Training starts at the logit 0, Miller's "Attention is off by one" (2023). Without a sink the
// first token takes this role.
class Sink final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    std::vector<TensorSpec> tensors() const override { return {per_head("logit", InitialValues::constant(0))}; }
    float sink(const Tile& query) const override { return at(slot(query.layer), 0, query.head); }
    void sink_backward(float d_sink, const Tile& query, const Gradients& grads) const override {
        grads.tensors[0].row(0)[query.head] += d_sink;
    }
    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_sink ? (operations_of_function + 1) * work.query_rows : 0};
    }
    std::vector<NamedTable> tables() const override {
        const auto logits = [this](int slot, int head, auto out) { out[1] = at(slot, 0, head); };
        return {by_head("table", {"head", "logit"}, logits)};
    }
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Sink>(dims);
}

} // namespace sink_file
} // namespace ordo
