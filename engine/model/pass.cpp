// SPDX-License-Identifier: MIT
#include "model/pass.h"

#include "core/blas.h"
#include "core/error.h"
#include "core/parallel.h"
#include "layers/embedding.h"
#include "ops/finite.h"
#include "ops/softmax.h"

#include <algorithm>

namespace ordo {
namespace {

int qkv_width(const Blueprint& b) {
    return (b.n_heads + 2 * b.n_kv_heads) * b.d_head;
}
int hidden_width(const Blueprint& b) {
    return b.gated ? 2 * b.d_ff : b.d_ff;
}
int widest_input(const Blueprint& b) {
    return std::max({b.d_model, b.n_heads * b.d_head, b.d_ff});
}

} // namespace

Pass::Pass(const Model::Impl& model, int rows, int head_rows, int capacity, int sequences) : model_(&model) {
    const Blueprint& b = model.blueprint;
    if (rows > most_rows_without_blas && model.weights.any(WeightType::f32)) reserve_blas();
    x_ = Tensor(rows, b.d_model);
    normed_ = Tensor(rows, b.d_model);
    branch_ = Tensor(rows, b.d_model);
    qkv_ = Tensor(rows, qkv_width(b));
    attended_ = Tensor(rows, b.n_heads * b.d_head);
    hidden_ = Tensor(rows, hidden_width(b));
    logits_ = Tensor(head_rows, b.vocab_size);
    attention_ = AttentionScratch(model.shape.attention, capacity, sequences);
    if (model.weights.convert_rows()) rows_scratch_ = RowScratch(rows, widest_input(b));
}

std::uint64_t Pass::bytes(const Model::Impl& model, int rows, int head_rows, int capacity, int sequences) {
    const Blueprint& b = model.blueprint;
    const auto row = static_cast<std::uint64_t>(3 * b.d_model + qkv_width(b) + b.n_heads * b.d_head + hidden_width(b));
    const std::uint64_t floats = static_cast<std::uint64_t>(rows) * row +
                                 static_cast<std::uint64_t>(head_rows) * static_cast<std::uint64_t>(b.vocab_size) +
                                 AttentionScratch::floats(model.shape.attention, capacity, sequences);
    return sizeof(float) * floats + (model.weights.convert_rows() ? RowScratch::bytes(rows, widest_input(b)) : 0);
}

void Pass::not_finite(const std::string& stage) const {
    fail(ErrorCode::model, model_->where, ": ", stage, " yields values that are not finite");
}

// Tokens to what the first layer reads.
void Pass::enter(const PassRows& in, View rows) {
    const Model::Impl& m = *model_;
    embed_tokens(in.tokens, m.weights.embedding, m.blueprint.embedding_scale, rows);
    if (m.encodings.moments() & moment_embed) {
        constexpr int rows_at_once = 16;
        parallel_for((rows.rows + rows_at_once - 1) / rows_at_once, std::max(1, 8192 / (rows_at_once * rows.cols)),
                     [&](std::ptrdiff_t i) {
                         const int first = static_cast<int>(i) * rows_at_once;
                         const int n = std::min(rows_at_once, rows.rows - first);
                         const auto at = static_cast<std::size_t>(first), count = static_cast<std::size_t>(n);
                         m.encodings.embed(rows_of(rows, first, n),
                                           {in.positions.subspan(at, count),
                                            in.segments.empty() ? in.segments : in.segments.subspan(at, count)});
                     });
    }
    if (m.blueprint.embedding_norm)
        norm(m.blueprint.norm, rows, m.weights.embedding_norm.weight, m.weights.embedding_norm.bias,
             m.blueprint.norm_eps, rows);
}

void Pass::layer(int i, const PassRows& in, View rows) {
    const BlockScratch scratch{normed_.view(), branch_.view(), qkv_.view(),   attended_.view(),
                               hidden_.view(), &attention_,    &rows_scratch_};
    block(model_->shape, model_->weights.blocks[static_cast<std::size_t>(i)], model_->encodings, i, in.parts, scratch,
          rows);
}

View Pass::forward(const PassRows& in) {
    const int n_layers = model_->blueprint.n_layers;
    const View rows = x_.view(static_cast<int>(in.tokens.size()));
    team(attention_.slots(), [&] {
        enter(in, rows);
        for (int i = 0; i < n_layers; ++i) layer(i, in, rows);
    });
    if (all_finite(rows)) return rows;
    // What is not finite stays so on its way through the layers. To name the culprit we go again.
    enter(in, rows);
    if (!all_finite(rows)) not_finite("the embedding");
    for (int i = 0; i < n_layers; ++i) {
        layer(i, in, rows);
        if (!all_finite(rows)) not_finite("layer " + std::to_string(i));
    }
    return rows;
}

View Pass::head(View rows) {
    const Model::Impl& m = *model_;
    const View in = m.blueprint.final_norm ? normed_.view(rows.rows) : rows, out = logits_.view(rows.rows);
    team(attention_.slots(), [&] {
        if (m.blueprint.final_norm)
            norm(m.blueprint.norm, rows, m.weights.final_norm.weight, m.weights.final_norm.bias, m.blueprint.norm_eps,
                 in);
        // Rounded rows would show most here: half of what bf16 loses against the same weights in f32.
        linear(in, m.weights.head, rows_scratch_, out, Bf16Rows::floats);
    });
    if (!all_finite(out)) not_finite("the head"); // before the cap, which would hide it
    if (m.blueprint.final_softcap != 0) soft_cap(m.blueprint.final_softcap, out);
    return out;
}

} // namespace ordo
