// SPDX-License-Identifier: MIT
#include "encoding/base/relative_vectors.h"

namespace ordo {

const EncodingInfo shaw_encoding = {
    .name = "shaw",
    .summary = "adds a trained vector for each clipped distance to keys, and one to values",
    .paper = "Shaw et al. 2018, arXiv 1803.02155",
    .formula = "score(i, j) = q_i . (k_j + keys[r]) * scale,  out_i = sum_j w_ij (v_j + values[r])\n"
               "r = clamp(p_j - p_i, -clip, clip) + clip",
    .make = shaw_file::make,
};

namespace shaw_file {

// Eq. 3 to 5; all heads of a layer share the vectors. Without values it is BERT's relative_key. Nothing of the size of
// all pairs is stored. q_i is multiplied once with the 2 clip + 1 keys, and each score reads its product. The weights
// of the keys at one distance are added up before they are multiplied with its value.
class Shaw final : public RelativeVectors {
public:
    using RelativeVectors::RelativeVectors;
    void parameters(Params& p) override {
        p.integer("clip", clip_, 0, 1 << 20, "larger distances share this one's vector");
        p.flag("values", has_values_, "no: the keys' vectors alone");
    }
    unsigned moments() const override { return moment_bias | (has_values_ ? moment_mix : 0U); }
    unsigned reads() const override { return reads_queries; }
    std::vector<Vectors> vectors() const override {
        std::vector<Vectors> all = {{.name = "keys", .least = -clip_, .most = clip_}};
        if (has_values_) all.push_back({.name = "values", .least = -clip_, .most = clip_});
        return all;
    }
    void bias(View scores, const Tile& tile) const override { add_products(0, tile.scale, scores, tile); }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        add_products_backward(0, tile.scale, d_scores, tile, gradient);
    }
    void mix(View out, View weights, const Tile& tile) const override {
        table(1, tile).add_rows(1, weights, tile, out);
    }
    void mix_backward(View d_out, View weights, View d_weights, const Tile& tile,
                      const Gradients& gradient) const override {
        table(1, tile).add_products(1, d_out, tile, d_weights);
        table(1, tile).add_gradient(1, weights, d_out, tile, gradient.tensors[1]);
    }

    // A query is multiplied with the vector of each distance of its keys, and each key reads its product.
    Operations operations(Moment moment, const Work& work) const override {
        if (!(moments() & moment)) return {};
        const double distances = dims().mask == Mask::causal ? clip_ + 1 : 2.0 * clip_ + 1;
        return {2 * dims().d_head * std::min(work.pairs, work.query_rows * distances), work.pairs};
    }

private:
    int clip_ = 16;
    bool has_values_ = true;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Shaw>(dims);
}

} // namespace shaw_file
} // namespace ordo
