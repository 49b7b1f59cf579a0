// SPDX-License-Identifier: MIT
#include "model/pass.h"

#include "core/error.h"
#include "core/parallel.h"
#include "kernels/kernels.h"
#include "layers/embedding.h"
#include "ops/finite.h"
#include "ops/softmax.h"

#include <algorithm>

namespace ordo {
namespace {

// What all layers of a model need of memory.
struct Widths {
    int qkv, attended, hidden, input;
};
Widths widths(const Stack& model) {
    const LayerSizes& s = model.programs.front().sizes;
    Widths w{s.qkv_width(), s.q_width(), 0, 0};
    for (const LayerProgram& program : model.programs) {
        for (const Value& v : program.values) // experts have memory of their own
            if (v.slot == Slot::hidden) w.hidden = std::max(w.hidden, v.width);
        w.input = std::max(w.input, program.widest_input());
    }
    return w;
}

// One piece is more often large enough for huge pages; in pieces the address sanitizer sees what runs from one into the next.
#ifdef __SANITIZE_ADDRESS__
constexpr bool in_one_piece = false;
#else
constexpr bool in_one_piece = true;
#endif

// Floats of a view of the pass's memory: the next one begins on a cache line.
std::size_t padded(int rows, int cols) {
    return (static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols) + 15) / 16 * 16;
}

} // namespace

int embedding_stages(const Blueprint& blueprint, const EncodingStack& encodings) {
    int n = 1 + (blueprint.embedding_width != 0 ? 1 : 0) + (blueprint.embedding_norm ? 1 : 0);
    for (const auto& encoding : encodings.items()) n += (encoding->moments() & moment_embed) != 0 ? 1 : 0;
    return n;
}

void embed(const Blueprint& blueprint, const Weights& weights, const EncodingStack& encodings,
           std::span<const Token> tokens, const TokenRows& rows, RowScratch& scratch, std::span<const View> stages) {
    const View* stage = stages.data();
    embed_tokens(tokens, weights.embedding, blueprint.embedding_scale, *stage);
    if (blueprint.embedding_width != 0) {
        linear(*stage, weights.embedding_projection, scratch, stage[1], Bf16Rows::floats);
        ++stage;
    }
    constexpr int rows_at_once = 16;
    const int n = stage->rows;
    for (const auto& encoding : encodings.items()) {
        if (!(encoding->moments() & moment_embed)) continue;
        const View from = *stage, to = *++stage;
        parallel_for(
            (n + rows_at_once - 1) / rows_at_once, std::max(1, 8192 / (rows_at_once * to.cols)), [&](std::ptrdiff_t i) {
                const int first = static_cast<int>(i) * rows_at_once, count = std::min(rows_at_once, n - first);
                const auto at = static_cast<std::size_t>(first), some = static_cast<std::size_t>(count);
                if (from.data != to.data)
                    for (int row = first; row < first + count; ++row)
                        std::copy_n(from.row(row), from.cols, to.row(row));
                encodings.embed(*encoding, rows_of(to, first, count),
                                {rows.positions.subspan(at, some),
                                 rows.segments.empty() ? rows.segments : rows.segments.subspan(at, some)});
            });
    }
    if (blueprint.embedding_norm) {
        const View from = *stage, to = *++stage;
        norm(blueprint.norm, from, weights.embedding_norm.weight, weights.embedding_norm.bias, blueprint.norm_eps, to);
    }
}

Pass::Pass(const Stack& model, std::shared_ptr<const EncodingStack> encodings, const PassSizes& sizes)
    : model_(&model), encodings_(std::move(encodings)) {
    const Blueprint& b = model.blueprint;
    const Widths w = widths(model);
    const int rows = sizes.rows;
    const struct {
        View& view;
        int rows, cols;
    } parts[] = {{x_, rows, b.d_model},      {normed_, rows, b.d_model},
                 {branch_, rows, b.d_model}, {narrow_, rows, b.embedding_width},
                 {qkv_, rows, w.qkv},        {attended_, rows, w.attended},
                 {hidden_, rows, w.hidden},  {logits_, sizes.head_rows, b.vocab_size}};
    std::size_t floats = 0, at = 0;
    for (const auto& part : parts) floats += padded(part.rows, part.cols);
    if (in_one_piece) memory_.emplace_back(floats);
    for (const auto& part : parts) {
        const std::size_t size = padded(part.rows, part.cols);
        if (!in_one_piece) memory_.emplace_back(size), at = 0;
        part.view = view(memory_.back().data() + at, part.rows, part.cols);
        at += size;
    }
    for (const LayerProgram& program : model.programs)
        values_.push_back(lay_out(program, {x_, normed_, branch_, qkv_, attended_, hidden_}));
    stages_.assign(static_cast<std::size_t>(embedding_stages(b, *encodings_)), x_);
    attention_ =
        AttentionScratch(attention_shapes(model.programs), encodings_->reads(), std::max(sizes.capacity, sizes.memory));
    if (model.weights.convert_rows()) rows_scratch_ = RowScratch(rows, w.input);
    experts_ = ExpertScratch(model.programs, rows);
}

std::uint64_t Pass::bytes(const Stack& model, const PassSizes& sizes) {
    const Blueprint& b = model.blueprint;
    const Widths w = widths(model);
    const auto row = static_cast<std::uint64_t>(3 * b.d_model + b.embedding_width + w.qkv + w.attended + w.hidden);
    const std::uint64_t floats =
        static_cast<std::uint64_t>(sizes.rows) * row +
        static_cast<std::uint64_t>(sizes.head_rows) * static_cast<std::uint64_t>(b.vocab_size) +
        AttentionScratch::floats(attention_shapes(model.programs), model.encodings.reads(),
                                 std::max(sizes.capacity, sizes.memory));
    return sizeof(float) * floats + ExpertScratch::bytes(model.programs, sizes.rows) +
           (model.weights.convert_rows() ? RowScratch::bytes(sizes.rows, w.input) : 0);
}

void Pass::not_finite(const std::string& what) const {
    fail(ErrorCode::model, model_->where, ": ", what, " yields values that are not finite");
}

void Pass::enter(const PassRows& in) {
    embed(model_->blueprint, model_->weights, *encodings_, in.tokens, in.rows, rows_scratch_, stages_);
}

void Pass::layer(int i, const PassRows& in, const Watch* watch) {
    const auto at = static_cast<std::size_t>(i);
    const WatchWeights* weights = watch && watch->weights ? &watch->weights : nullptr;
    ordo::forward({model_->program(i), model_->weights.layers[at], encodings_->layer(i), i, weights}, in.parts,
                  values_[at % values_.size()], {&attention_, &rows_scratch_, &experts_});
}

template <class Body>
void Pass::run(const Body& body) {
    const int threads = std::min(attention_.slots(), thread_count());
    if (threads == 1 || detail::member.busy()) return team(threads, body); // there is but one way
    const auto start = Clock::now();
    if (pace_.alone() && !detail::restless_now())
        alone(body);
    else
        team(threads, body);
    took_ += seconds_since(start);
}

void Pass::begin(int rows) {
    if (rows != rows_)
        pace_ = {};
    else if (took_ > 0)
        pace_.add(took_);
    rows_ = rows;
    took_ = 0;
}

View Pass::forward(const PassRows& in, const Watch* watch) {
    const int n_layers = model_->blueprint.n_layers;
    const View rows = rows_of(x_, 0, static_cast<int>(in.tokens.size()));
    begin(rows.rows);
    std::fill(stages_.begin(), stages_.end(), rows); // here, as a team may not write what it shares
    if (model_->blueprint.embedding_width != 0) stages_.front() = rows_of(narrow_, 0, rows.rows);
    if (watch) {
        watched(in, rows, *watch);
    } else {
        run([&] {
            enter(in);
            for (int i = 0; i < n_layers; ++i) layer(i, in, nullptr);
        });
    }
    if (all_finite(rows)) return rows;
    // What is not finite stays so on its way through the layers. To name the culprit we go again.
    enter(in);
    if (!all_finite(rows)) not_finite("the embedding");
    for (int i = 0; i < n_layers; ++i) {
        layer(i, in, nullptr);
        if (!all_finite(rows)) not_finite("layer " + std::to_string(i));
    }
    return rows;
}

void Pass::watched(const PassRows& in, View rows, const Watch& watch) {
    enter(in);
    if (watch.states) watch.states(-1, in.parts.front().first, rows);
    for (int i = 0; i < model_->blueprint.n_layers; ++i) {
        run([&] { layer(i, in, &watch); });
        if (watch.states) watch.states(i, in.parts.front().first, rows);
    }
}

View Pass::finish(View rows) {
    const Stack& m = *model_;
    if (!m.blueprint.final_norm) return rows;
    const View out = rows_of(normed_, 0, rows.rows);
    norm(m.blueprint.norm, rows, m.weights.final_norm.weight, m.weights.final_norm.bias, m.blueprint.norm_eps, out);
    return out;
}

View Pass::states(View rows) {
    const View out = finish(rows);
    if (!all_finite(out)) not_finite("the final norm");
    return out;
}

View Pass::before_head(View x) {
    const Stack& m = *model_;
    const Blueprint& b = m.blueprint;
    if (b.head_transform) {
        const View dense = rows_of(branch_, 0, x.rows), out = rows_of(normed_, 0, x.rows);
        linear(x, m.weights.head_transform, rows_scratch_, dense, Bf16Rows::floats);
        activate(b.activation, dense, dense);
        norm(b.norm, dense, m.weights.head_norm.weight, m.weights.head_norm.bias, b.norm_eps, out);
        x = out;
    }
    if (b.head_scale != 1) {
        const View out = rows_of(normed_, 0, x.rows);
        parallel_for(x.rows, std::max(1, 16384 / x.cols), [&](std::ptrdiff_t i) {
            const auto row = static_cast<int>(i);
            if (out.data != x.data) std::copy_n(x.row(row), x.cols, out.row(row));
            kernels().scale(x.cols, b.head_scale, out.row(row));
        });
        x = out;
    }
    if (b.embedding_width == 0) return x;
    const View narrow = rows_of(narrow_, 0, x.rows);
    linear(x, m.weights.head_projection, rows_scratch_, narrow, Bf16Rows::floats);
    return narrow;
}

View Pass::head(View rows) {
    const Stack& m = *model_;
    const View out = rows_of(logits_, 0, rows.rows);
    run([&] {
        // Rounded rows would show most here: half of what bf16 loses against the same weights in f32.
        linear(before_head(finish(rows)), m.weights.head, rows_scratch_, out, Bf16Rows::floats);
    });
    if (!all_finite(out)) not_finite("the head"); // before the cap, which would hide it
    if (m.blueprint.final_softcap != 0) soft_cap(m.blueprint.final_softcap, out);
    return out;
}

} // namespace ordo
