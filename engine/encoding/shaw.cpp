// SPDX-License-Identifier: MIT
// Relative position representations: each distance, up to a clip, has a trained vector that is added to the keys, and
// another that is added to the values. With r = clamp(p_j - p_i, -clip, clip) + clip, keys and values [2 clip + 1,
// d_head] are shared by all heads of a layer:
//   score(i, j) = (q_i . k_j + q_i . keys[r]) * scale,  out_i = sum_j w_ij (v_j + values[r])
// Nothing of the size of all pairs is stored. q_i is multiplied once with the 2 clip + 1 keys, and each score reads its
// product. The weights of the keys at one distance are added up before they are multiplied with its value. Shaw,
// Uszkoreit and Vaswani 2018, arXiv 1803.02155, eq. 3 to 5. Without values it is BERT's relative_key.
#include "encoding/base/registered.h"
#include "encoding/base/relative.h"

namespace ordo {
namespace {

class Shaw final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.integer("clip", clip_, 0, 1 << 20, "distance from which on all are alike");
        p.flag("values", has_values_, "no: the keys' vectors alone");
    }
    void ready() override {
        for (int i = 0; i < dims().layer_count(); ++i) {
            keys_.emplace_back(-clip_, clip_, dims().mask);
            if (has_values_) values_.emplace_back(-clip_, clip_, dims().mask);
        }
    }
    unsigned moments() const override { return moment_bias | (has_values_ ? moment_mix : 0U); }
    unsigned reads() const override { return reads_queries; }
    std::vector<TensorSpec> tensors() const override {
        const std::vector<std::int64_t> shape = {2 * std::int64_t{clip_} + 1, dims().d_head};
        std::vector<TensorSpec> all = {{.name = "keys", .shape = shape, .per_layer = true}};
        if (has_values_) all.push_back({.name = "values", .shape = shape, .per_layer = true});
        return all;
    }
    void bind(int layer, std::span<const View> tensors) override {
        const std::size_t at = slot(layer);
        keys_[at].bind(tensors[0]);
        if (has_values_) values_[at].bind(tensors[1]);
    }
    void prepare(int) override {
        for (std::vector<RelativeTable>* tables : {&keys_, &values_})
            for (RelativeTable& table : *tables) table.prepare();
    }
    void bias(View scores, const Tile& tile) const override {
        keys_[slot(tile.layer)].add_products(tile.scale, tile.q, tile, scores);
    }
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override {
        const RelativeTable& keys = keys_[slot(tile.layer)];
        keys.add_rows(tile.scale, d_scores, tile, gradient.q);
        keys.add_gradient(tile.scale, d_scores, tile.q, tile, gradient.tensors[0]);
    }
    void mix(View out, View weights, const Tile& tile) const override {
        values_[slot(tile.layer)].add_rows(1, weights, tile, out);
    }
    void mix_backward(View d_out, View weights, View d_weights, const Tile& tile,
                      const TileGradient& gradient) const override {
        const RelativeTable& values = values_[slot(tile.layer)];
        values.add_products(1, d_out, tile, d_weights);
        values.add_gradient(1, weights, d_out, tile, gradient.tensors[1]);
    }

    // A query is multiplied with the vector of each distance of its keys, and each key reads its product.
    Operations operations(Moment moment, const Work& work) const override {
        if (!(moments() & moment)) return {};
        const double distances = dims().mask == Mask::causal ? clip_ + 1 : 2.0 * clip_ + 1;
        return {2 * dims().d_head * std::min(work.pairs, work.query_rows * distances), work.pairs};
    }
    std::vector<NamedTable> tables() const override {
        std::vector<NamedTable> all = {{"keys", relative_table(*this, keys_, dims())}};
        if (has_values_) all.push_back({"values", relative_table(*this, values_, dims())});
        return all;
    }

private:
    std::size_t slot(int layer) const { return static_cast<std::size_t>(dims().slot(layer)); }

    int clip_ = 16;
    bool has_values_ = true;
    std::vector<RelativeTable> keys_, values_; // of each layer
};

} // namespace

const EncodingInfo shaw_encoding = {
    .name = "shaw",
    .summary = "adds a trained vector for each clipped distance to keys, and one to values",
    .paper = "Shaw et al. 2018, arXiv 1803.02155",
    .formula = "score(i, j) = q_i . (k_j + keys[r]) * scale,  out_i = sum_j w_ij (v_j + values[r])\n"
               "r = clamp(p_j - p_i, -clip, clip) + clip",
    .make = make_registered<Shaw>,
};

} // namespace ordo
