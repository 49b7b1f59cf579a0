// SPDX-License-Identifier: MIT
#include "core/error.h"
#include "encoding/base/relative_vectors.h"
#include "kernels/kernels.h"

#include <cmath>

namespace ordo {

const EncodingInfo deberta_encoding = {
    .name = "deberta",
    .summary = "multiplies queries and keys with trained vectors of their distance",
    .paper = "He et al. 2021, arXiv 2006.03654",
    .formula = "score(i, j) = f (q_i . k_j + q_i . keys[delta(i, j)] + k_j . queries[delta(j, i)]) * scale\n"
               "delta(a, b) = clamp(p_a - p_b + span, 0, 2 span - 1),  f = 1/sqrt(1 + terms)\n"
               "with distance: p_a - p_b beyond span/2 = m is m + ceil(ln(D/m) / ln((distance - 1)/m) (m - 1))",
    .make = deberta_file::make,
};

namespace deberta_file {

// Eq. 4: content to content, content to position (c2p), and position to content (p2c). keys and queries hold the
// paper's table of relative positions after its projection, which has no other use. ROTATE multiplies q with f, and
// BIAS then reads that q: f keeps the variance of the sum of three terms at that of one. The buckets of distances, and
// the other row of p2c, are those of the authors' code for DeBERTa 2 and 3.
class Deberta final : public RelativeVectors {
public:
    using RelativeVectors::RelativeVectors;
    void parameters(Params& p) override {
        p.integer("span", span_, 1, 1 << 20, "larger distances share this one's vector");
        p.choice("terms", terms_, {"both", "c2p", "p2c"},
                 "c2p: content to position, p2c: position to content, or both");
        p.unless(distance_ == 0)
            .integer("distance", distance_, 0, 4096,
                     "beyond span/2, distances share vectors in growing numbers up to this distance; 0: none do");
        if (distance_ != 0 && (span_ % 2 != 0 || distance_ < span_ / 2 + 2))
            fail(ErrorCode::usage, "deberta: distance: expected at least ", span_ / 2 + 2,
                 " beside an even span, found ", distance_, " beside ", span_);
        p.unless(!code_).choice("order", code_, {"paper", "code"},
                                "the row of p2c: delta(j, i), or delta(i, j) as in the authors' code");
    }
    unsigned reads() const override { return (c2p() ? reads_queries : 0U) | (p2c() ? reads_keys : 0U); }
    std::vector<Vectors> vectors() const override { // row delta(i, j) of `keys` is that of p_j - p_i = span - delta
        std::vector<Vectors> all;
        if (c2p())
            all.push_back({.name = "keys", .least = 1 - span_, .most = span_, .by_head = true, .reversed = true});
        if (p2c()) {
            const int least = code_ ? 1 - span_ : -span_;
            all.push_back({.name = "queries",
                           .least = least,
                           .most = least + 2 * span_ - 1,
                           .by_head = true,
                           .reversed = code_,
                           .of_keys = true});
        }
        for (Vectors& v : all) v.reach = distance_;
        return all;
    }
    int bucket(int distance) const override {
        const int m = span_ / 2, D = std::abs(distance);
        if (D <= m) return distance;
        const double steps = std::log(1.0 * D / m) / std::log((distance_ - 1.0) / m) * (m - 1);
        const int far = m + static_cast<int>(std::ceil(steps - 1e-9)); // 1e-9: for integers that rounding makes larger
        return distance < 0 ? -far : far;
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
        const double e = dims().d_head, sides = dims().mask == Mask::causal ? 1 : 2,
                     distances = sides * (distance_ != 0 ? distance_ : span_);
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
    int span_ = 128, distance_ = 0;
    bool code_ = false;
    Terms terms_ = Terms::both;
};

std::unique_ptr<RegisteredEncoding> make(const Dims& dims) {
    return make_registered<Deberta>(dims);
}

} // namespace deberta_file
} // namespace ordo
