// SPDX-License-Identifier: MIT
// Sinks: a trained logit for each head that stands in the denominator of its softmax and has no value.
//   weight(i, j) = exp(score(i, j)) / (exp(s_h) + sum over keys l of exp(score(i, l))),  s = logit [n_heads] of each layer
// A head that finds nothing can then attend to nothing; s_h = -inf is the plain softmax. It tells no order: a model has it
// beside an encoding that does, or learns order from its mask. OpenAI 2025 (gpt-oss), arXiv 2508.10925; the logit 0, from
// which training starts, is Miller's "Attention is off by one" (2023). Xiao et al. 2024, arXiv 2309.17453: without it the
// first token becomes the sink.
#include "encoding/base/layer_tensors.h"
#include "encoding/base/registered.h"
#include "encoding/base/table.h"

namespace ordo {
namespace {

class Sink final : public RegisteredEncoding {
public:
    explicit Sink(const Dims& dims) : RegisteredEncoding(dims), tensors_(dims) {}

    unsigned moments() const override { return moment_sink; }

    std::vector<TensorSpec> tensors() const override {
        return {{.name = "logit", .shape = {dims().n_heads}, .initial = InitialValues::constant(0), .per_layer = true}};
    }
    void bind(int layer, std::span<const View> tensors) override { tensors_.bind(layer, tensors); }

    float sink(int layer, int head) const override { return tensors_.of_layer(layer)[0].row(0)[head]; }
    void sink_backward(int, int head, float d_sink, std::span<const View> grads) const override {
        grads[0].row(0)[head] += d_sink;
    }

    Operations operations(Moment moment, const Work& work) const override {
        return {.others = moment == moment_sink ? (operations_of_function + 1) * work.query_rows : 0};
    }

    TableRows table_rows(const TableRequest& request) const override {
        checked_part(*this, request);
        const View logits = tensors_.requested(*this, request)[0];
        return make_table({"head", "logit"}, dims().n_heads, [logits](std::int64_t head, std::span<double> out) {
            out[0] = static_cast<double>(head);
            out[1] = logits.row(0)[head];
        });
    }

private:
    LayerTensors tensors_; // logit [1, n_heads]
};

} // namespace

const EncodingInfo sink_encoding = {
    .name = "sink",
    .summary = "lets a head attend to nothing, by a trained logit in the softmax's denominator",
    .paper = "OpenAI 2025, arXiv 2508.10925; Xiao et al. 2024, arXiv 2309.17453",
    .formula = "weight(i, j) = exp(score(i, j)) / (exp(s_h) + sum_l exp(score(i, l)))\n"
               "s_h = logit[h] of the layer; it has no value",
    .make = make_registered<Sink>,
};

} // namespace ordo
