// SPDX-License-Identifier: MIT
#include "tools/lab/hidden_states.h"

#include "core/parallel.h"
#include "encoding/reach.h"
#include "layers/embedding.h"
#include "model/model.h"

#include <algorithm>
#include <numeric>

namespace ordo::lab {

namespace {

Tensor copy_of(View rows) {
    Tensor copy(rows.rows, rows.cols);
    for (int i = 0; i < rows.rows; ++i) std::copy_n(rows.row(i), rows.cols, copy.view().row(i));
    return copy;
}

} // namespace

std::vector<Tensor> hidden_states(const Model& model, std::span<const Token> tokens) {
    const Model::Impl& m = model.impl();
    const Blueprint& b = m.blueprint;
    const auto n = static_cast<int>(tokens.size());
    check_reach(m.encodings, n);
    const int heads = b.n_heads * b.d_head, hidden = b.gated ? 2 * b.d_ff : b.d_ff;
    Tensor x(n, b.d_model), normed(n, b.d_model), branch(n, b.d_model), attended(n, heads), inner(n, hidden);
    Tensor qkv(n, (b.n_heads + 2 * b.n_kv_heads) * b.d_head);
    AttentionScratch attention(m.shape.attention, n, 1);
    RowScratch converted(n, std::max({b.d_model, heads, b.d_ff}));
    KvCache cache(b.n_layers, b.n_kv_heads, b.d_head, n);
    std::iota(cache.positions().begin(), cache.positions().end(), 0);

    embed_tokens(tokens, m.weights.embedding, b.embedding_scale, x.view());
    m.encodings.embed(x.view(), {std::as_const(cache).positions(), {}});
    if (b.embedding_norm)
        norm(b.norm, x.view(), m.weights.embedding_norm.weight, m.weights.embedding_norm.bias, b.norm_eps, x.view());
    std::vector<Tensor> states;
    states.push_back(copy_of(x.view()));
    const Part part{&cache, 0, n};
    for (int i = 0; i < b.n_layers; ++i) {
        const auto layer = [&] {
            block(m.shape, m.weights.blocks[static_cast<std::size_t>(i)], m.encodings, i, {&part, 1},
                  {normed.view(), branch.view(), qkv.view(), attended.view(), inner.view(), &attention, &converted},
                  x.view());
        };
        team(attention.slots(), layer);
        states.push_back(copy_of(x.view()));
    }
    return states;
}

} // namespace ordo::lab
