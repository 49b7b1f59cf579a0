// SPDX-License-Identifier: MIT
#include "encoding/base/projection.h"
#include "encoding/base/registered.h"
#include "encoding/base/relative.h"

namespace ordo {

const EncodingInfo relative_logits_encoding = {
    .name = "relative-logits",
    .summary = "adds curves of the distance to scores, mixed by each query's token",
    .paper = "Thinking Machines 2026 (Inkling)",
    .formula = "score(i, j) = q_i . k_j * scale + r_(i,h) . table[:, p_i - p_j],  r_i = W x_i\n"
               "for 0 <= p_i - p_j < extent, else without a bias;  x_i: the layer's normed input",
    .make = relative_logits_file::make,
};

namespace relative_logits_file {

// As in its code in Hugging Face transformers, InklingRelativeLogits: rank 16, an extent of 1,024 or the window. A
// layer's heads share its table. Both tensors start normal, 0.02. The state of a token is r of each head, which only
// queries read.
class RelativeLogits final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.integer("rank", rank_, 1, 256, "curves that each token and head mixes");
        p.integer("extent", extent_, 1, 1 << 20, "distances that the curves cover; further keys get no bias",
                  "context");
    }
    void ready() override {
        for (int slot = 0; slot < slots(); ++slot) {
            rows_.emplace_back(extent_ + 2, rank_);
            tables_.emplace_back(-extent_, 1, dims().mask);
            tables_.back().bind(rows_.back().view());
        }
    }
    unsigned reads() const override { return reads_query_state; }

    std::vector<TensorSpec> tensors() const override {
        return {per_layer("projection", {std::int64_t{heads()} * rank_, dims().d_model}),
                per_layer("table", {rank_, extent_})};
    }
    // A row of zeros stands at each end: for keys beyond the extent, and for later keys.
    void prepare(int) override {
        for (int slot = 0; slot < slots(); ++slot) {
            for (int distance = 0; distance < extent_; ++distance)
                for (int c = 0; c < rank_; ++c)
                    rows_[slot].view().row(extent_ - distance)[c] = tensor(slot, 1).row(c)[distance];
            tables_[slot].prepare();
        }
    }

    int state_floats() const override { return heads() * rank_; }
    void observe(View x, int layer, Positions, const float*, View state) const override {
        project(x, tensor(slot(layer), 0), state);
    }
    bool observes_in_loops() const override { return true; }
    void observe_backward(View d_state, View x, int layer, Positions, View, View dx,
                          const Gradients& grads) const override {
        projection_backward(d_state, 1, x, tensor(slot(layer), 0), grads.tensors[0], dx);
    }

    void bias(View scores, const Tile& tile) const override {
        tables_[slot(tile.layer)].add_products(1, mixture(tile.query_state, tile), tile, scores);
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        const RelativeTable& table = tables_[slot(tile.layer)];
        table.add_rows(1, d_scores, tile, mixture(gradient.query_state, tile));
        Tensor sums(extent_ + 2, rank_);
        table.add_gradient(1, d_scores, mixture(tile.query_state, tile), tile, sums.view());
        for (int c = 0; c < rank_; ++c)
            for (int distance = 0; distance < extent_; ++distance)
                gradient.tensors[1].row(c)[distance] += sums.view().row(extent_ - distance)[c];
    }

    // A query is multiplied with the row of each distance of its keys, and each key reads its product.
    Operations operations(Moment moment, const Work& work) const override {
        if (moment == moment_observe) return {2.0 * dims().d_model * heads() * rank_ * work.tokens, 0};
        if (moment != moment_bias) return {};
        return {2.0 * rank_ * std::min(work.pairs, work.query_rows * extent_), work.pairs};
    }

    // The curves of a layer, a row for each distance.
    std::vector<NamedTable> tables() const override {
        return {{"table", [this](const TableRequest& request) {
                     const View curves = tensor(requested_slot(request), 1);
                     std::vector<std::string> header = {"distance"};
                     for (int c = 0; c < rank_; ++c) header.push_back("curve" + std::to_string(c));
                     return make_table(std::move(header), extent_, [curves](std::int64_t distance, auto out) {
                         out[0] = static_cast<double>(distance);
                         for (int c = 0; c < curves.rows; ++c)
                             out[c + 1] = static_cast<double>(curves.row(c)[distance]);
                     });
                 }}};
    }

private:
    View mixture(View states, const Tile& tile) const { return cols_of(states, tile.head * rank_, rank_); }

    int rank_ = 16, extent_ = std::max(1, dims().context);
    std::vector<Tensor> rows_;          // of each slot, [extent + 2, rank]: the table by p_j - p_i
    std::vector<RelativeTable> tables_; // of rows_
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<RelativeLogits>(dims);
}

} // namespace relative_logits_file
} // namespace ordo
