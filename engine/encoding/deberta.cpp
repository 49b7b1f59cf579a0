// SPDX-License-Identifier: MIT
#include "encoding/base/relative_vectors.h"
#include "kernels/kernels.h"

#include <cmath>

namespace ordo {

const EncodingInfo deberta_encoding = {
    .name = "deberta",
    .summary = "multiplies queries and keys with trained vectors of their distance",
    .paper = "He et al. 2021, arXiv 2006.03654",
    .formula = "score(i, j) = f (q_i . k_j + q_i . keys[delta(i, j)] + k_j . queries[delta(j, i)]) * scale\n"
               "delta(a, b) = clamp(p_a - p_b + span, 0, 2 span - 1),  f = 1/sqrt(1 + terms)",
    .make = deberta_file::make,
};

namespace deberta_file {

// Eq. 4: content to content, content to position (c2p), and position to content (p2c). keys and queries hold the
// paper's table of relative positions after its projection, which has no other use. ROTATE multiplies q with f, and
// BIAS then reads that q: f keeps the variance of the sum of three terms at that of one.
class Deberta final : public RelativeVectors {
public:
    using RelativeVectors::RelativeVectors;
    void parameters(Params& p) override {
        p.integer("span", span_, 1, 1 << 20, "larger distances share this one's vector");
        p.choice("terms", terms_, {"both", "c2p", "p2c"},
                 "c2p: content to position, p2c: position to content, or both");
    }
    unsigned reads() const override { return (c2p() ? reads_queries : 0U) | (p2c() ? reads_keys : 0U); }
    std::vector<Vectors> vectors() const override { // row delta(i, j) of `keys` is that of p_j - p_i = span - delta
        std::vector<Vectors> all;
        if (c2p())
            all.push_back({.name = "keys", .least = 1 - span_, .most = span_, .by_head = true, .reversed = true});
        if (p2c())
            all.push_back({.name = "queries", .least = -span_, .most = span_ - 1, .by_head = true, .of_keys = true});
        return all;
    }
    bool rotates(Role role) const override { return role == Role::query; }
    void rotate(View x, const HeadRows&) const override { scale(x); }
    void rotate_backward(View dx, View, const HeadRows&, const Gradients&) const override { scale(dx); }
    void bias(View scores, const Tile& tile) const override {
        if (c2p()) add_products(0, tile.scale, scores, tile);
        if (p2c()) add_products(c2p() ? 1 : 0, tile.scale * factor(), scores, tile);
    }
    void bias_backward(View d_scores, const Tile& tile, const Gradients& gradient) const override {
        if (c2p()) add_products_backward(0, tile.scale, d_scores, tile, gradient);
        if (p2c()) add_products_backward(c2p() ? 1 : 0, tile.scale * factor(), d_scores, tile, gradient);
    }
    Operations operations(Moment moment, const Work& work) const override {
        const double e = dims().d_head, distances = dims().mask == Mask::causal ? span_ : 2.0 * span_;
        if (moment == moment_rotate) return {.others = e * work.query_rows};
        if (moment != moment_bias) return {};
        Operations sum;
        if (c2p()) sum += {2 * e * std::min(work.pairs, work.query_rows * distances), work.pairs};
        if (p2c()) sum += {2 * e * work.pairs, work.pairs};
        return sum;
    }

private:
    bool c2p() const { return terms_ != Terms::p2c; }
    bool p2c() const { return terms_ != Terms::c2p; }
    float factor() const { return static_cast<float>(1 / std::sqrt(1.0 + (c2p() ? 1 : 0) + (p2c() ? 1 : 0))); }
    void scale(View x) const {
        for (int i = 0; i < x.rows; ++i) kernels().scale(x.cols, factor(), x.row(i));
    }

    enum class Terms { both, c2p, p2c };
    int span_ = 128;
    Terms terms_ = Terms::both;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Deberta>(dims);
}

} // namespace deberta_file
} // namespace ordo
