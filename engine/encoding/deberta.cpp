// SPDX-License-Identifier: MIT
// Disentangled attention has three terms: content to content, content to position (c2p), and position to content (p2c).
//   score(i, j) = f (q_i . k_j + q_i . keys[delta(i, j)] + k_j . queries[delta(j, i)]) * scale
//   delta(a, b) = clamp(p_a - p_b + span, 0, 2 span - 1),  f = 1/sqrt(1 + number of the position terms in use)
// Each layer has keys and queries [2 span, n_heads * d_head]. They hold the paper's table of relative positions after
// its projection, which has no other use. He et al. 2021, arXiv 2006.03654, eq. 4. ROTATE multiplies q with f, and BIAS
// then reads that q: f keeps the variance of the sum of three terms at that of one.
#include "core/error.h"
#include "encoding/base/registered.h"
#include "encoding/base/relative.h"
#include "kernels/kernels.h"

#include <cmath>

namespace ordo {
namespace {

// The rows in reverse order.
View reversed(View v) {
    return {v.row(v.rows - 1), v.rows, v.cols, -v.stride};
}

class Deberta final : public RegisteredEncoding {
public:
    using RegisteredEncoding::RegisteredEncoding;
    void parameters(Params& p) override {
        p.integer("span", span_, 1, 1 << 20, "distance from which on all are alike");
        p.choice("terms", terms_, {"both", "c2p", "p2c"},
                 "c2p: content to position, p2c: position to content, or both");
    }
    void ready() override {
        c2p_ = terms_ != Terms::p2c, p2c_ = terms_ != Terms::c2p;
        factor_ = static_cast<float>(1 / std::sqrt(1.0 + (c2p_ ? 1 : 0) + (p2c_ ? 1 : 0)));
        for (int i = 0; i < dims().layer_count() * dims().n_heads; ++i) {
            // Row span - r of `keys` has distance r = p_j - p_i.
            if (c2p_) keys_.emplace_back(1 - span_, span_, dims().mask);
            if (p2c_) queries_.emplace_back(-span_, span_ - 1, dims().mask);
        }
    }
    unsigned moments() const override { return moment_rotate | moment_bias; }
    unsigned reads() const override { return (c2p_ ? reads_queries : 0U) | (p2c_ ? reads_keys : 0U); }
    std::vector<TensorSpec> tensors() const override {
        const std::vector<std::int64_t> shape = {2 * std::int64_t{span_}, std::int64_t{dims().n_heads} * dims().d_head};
        std::vector<TensorSpec> all;
        if (c2p_) all.push_back({.name = "keys", .shape = shape, .per_layer = true});
        if (p2c_) all.push_back({.name = "queries", .shape = shape, .per_layer = true});
        return all;
    }
    void bind(int layer, std::span<const View> tensors) override {
        for (int head = 0; head < dims().n_heads; ++head) {
            if (c2p_) keys_[slot(layer, head)].bind(reversed(of_head(tensors[0], head)));
            if (p2c_) queries_[slot(layer, head)].bind(of_head(tensors[c2p_ ? 1 : 0], head));
        }
    }
    void prepare(int) override {
        for (RelativeTable& table : keys_) table.prepare();
    }
    bool rotates(Role role) const override { return role == Role::query; }
    void rotate(View x, const HeadRows& rows) const override { scale(x, rows.role); }
    void rotate_backward(View dx, View, const HeadRows& r, std::span<const View>) const override { scale(dx, r.role); }
    void bias(View scores, const Tile& tile) const override {
        const std::size_t at = slot(tile.layer, tile.head);
        if (c2p_) keys_[at].add_products(tile.scale, tile.q, tile, scores);
        if (p2c_) queries_[at].add_products_of_keys(tile.scale * factor_, tile.k, tile, scores);
    }
    void bias_backward(View d_scores, const Tile& tile, const TileGradient& gradient) const override {
        const std::size_t at = slot(tile.layer, tile.head);
        if (c2p_) {
            const View grad = reversed(of_head(gradient.tensors[0], tile.head));
            keys_[at].add_rows(tile.scale, d_scores, tile, gradient.q);
            keys_[at].add_gradient(tile.scale, d_scores, tile.q, tile, grad);
        }
        if (p2c_) {
            const View grad = of_head(gradient.tensors[c2p_ ? 1 : 0], tile.head);
            const float scale = tile.scale * factor_;
            queries_[at].add_rows_of_keys(scale, d_scores, tile, gradient.k);
            queries_[at].add_gradient_of_keys(scale, d_scores, tile.k, tile, grad);
        }
    }
    Operations operations(Moment moment, const Work& work) const override {
        const double e = dims().d_head, distances = dims().mask == Mask::causal ? span_ : 2.0 * span_;
        if (moment == moment_rotate) return {.others = e * work.query_rows};
        if (moment != moment_bias) return {};
        Operations sum;
        if (c2p_) sum += {2 * e * std::min(work.pairs, work.query_rows * distances), work.pairs};
        if (p2c_) sum += {2 * e * work.pairs, work.pairs};
        return sum;
    }
    std::vector<NamedTable> tables() const override {
        std::vector<NamedTable> all;
        if (c2p_) all.push_back({"keys", relative_table(*this, keys_, dims())});
        if (p2c_) all.push_back({"queries", relative_table(*this, queries_, dims())});
        return all;
    }

private:
    std::size_t slot(int layer, int head) const {
        return static_cast<std::size_t>(dims().slot(layer) * dims().n_heads + head);
    }
    View of_head(View tensor, int head) const { return cols_of(tensor, head * dims().d_head, dims().d_head); }
    void scale(View x, Role role) const {
        if (role == Role::query)
            for (int i = 0; i < x.rows; ++i) kernels().scale(x.cols, factor_, x.row(i));
    }

    enum class Terms { both, c2p, p2c };
    int span_ = 128;
    Terms terms_ = Terms::both;
    bool c2p_ = true, p2c_ = true;
    float factor_ = 1;
    std::vector<RelativeTable> keys_, queries_; // for each layer and head
};

} // namespace

const EncodingInfo deberta_encoding = {
    .name = "deberta",
    .summary = "multiplies queries and keys with trained vectors of their distance",
    .paper = "He et al. 2021, arXiv 2006.03654",
    .formula = "score(i, j) = f (q_i . k_j + q_i . keys[delta(i, j)] + k_j . queries[delta(j, i)]) * scale\n"
               "delta(a, b) = clamp(p_a - p_b + span, 0, 2 span - 1),  f = 1/sqrt(1 + terms)",
    .make = make_registered<Deberta>,
};

} // namespace ordo
