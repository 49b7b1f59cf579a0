// SPDX-License-Identifier: MIT
#include "layers/layer.h"

#include "core/random.h"
#include "layers/embedding.h"
#include "layers/layer_steps.h"
#include "ops/norm.h"
#include "ops/softmax.h"

#include <functional>

namespace ordo {
namespace {

// Some outputs of a row at a time, and their activation.
class ActivatedStrips final : public Units {
public:
    ActivatedStrips(const LayerPlan& plan, View in, View out)
        : plan_(plan), in_(in), out_(out), strip_(outputs_at_once(out.cols)) {}

    int count() const override { return (out_.cols + strip_ - 1) / strip_; }
    std::array<Range, 3> outputs(int unit) const override {
        const Range own = of(unit);
        return {own, {out_.cols + own.first, plan_.gated ? own.count : 0}, {}};
    }
    void finish(int unit, int) const override {
        const auto [first, count] = of(unit);
        const View x = cols_of(in_, first, count), y = cols_of(out_, first, count);
        if (plan_.gated)
            activate_gated(plan_.activation, x, cols_of(in_, out_.cols + first, count), y);
        else
            activate(plan_.activation, x, y);
    }

private:
    Range of(int unit) const { return {unit * strip_, std::min(strip_, out_.cols - unit * strip_)}; }

    const LayerPlan& plan_;
    View in_, out_;
    int strip_;
};

// The queries, keys and values of a key/value head, their norms, and their attention.
class AttendedHeads final : public Units {
public:
    // norms: of queries and of keys, one for each head; null: none
    AttendedHeads(const AttentionLayer& layer, const NormWeights* norms, float norm_eps, const Part& part, View qkv,
                  AttentionScratch& scratch, View out)
        : layer_(layer), norms_(norms), norm_eps_(norm_eps), part_(part), qkv_(qkv), scratch_(scratch), out_(out) {}

    int count() const override { return layer_.shape.n_kv_heads; }
    std::array<Range, 3> outputs(int unit) const override {
        const int width = layer_.shape.d_head, queries = out_.cols / count(), k = out_.cols + unit * width;
        return {Range{unit * queries, queries}, {k, width}, {k + count() * width, width}};
    }
    void finish(int unit, int slot) const override {
        const auto own = outputs(unit);
        for (int i = 0; norms_ && i < 2; ++i) {
            const View heads = view(qkv_.data + own[i].first, own[i].count / layer_.shape.d_head, layer_.shape.d_head);
            rms_norm(heads, norms_[i].weight, norm_eps_, heads);
        }
        attend_head(layer_, part_, qkv_, unit, scratch_, slot, out_);
    }

private:
    const AttentionLayer layer_;
    const NormWeights* norms_;
    float norm_eps_;
    const Part& part_;
    View qkv_;
    AttentionScratch& scratch_;
    View out_;
};

// The steps of one program.
class Forward {
public:
    Forward(const LayerRun& run, const PassRows& in, const LayerScratch& scratch, const Dropout& dropout)
        : layer_(run.layer), in_(in), values_(run.values), scratch_(scratch), dropout_(dropout),
          rows_(row_count(in, values_)) {}

    // Whether a linear step converts its rows.
    bool converts(const Step& step) const { return converts_rows(linear_of(step), rounding()); }
    void convert(const Step& step) const { convert_rows(value(step.in), linear_of(step), *scratch_.rows, rounding()); }
    // The number of steps after a linear one that a thread can compute for its own part of the outputs. Those up to
    // attention must share one memory, as in inference.
    std::size_t joins(const Step& product, std::span<const Step> next) const {
        if (next.empty() || !has_units(linear_of(product))) return 0;
        const LayerPlan& plan = layer_.program.plan;
        if (next[0].op == Op::activate) return !plan.gated || value(next[0].out).cols % panel_outputs == 0 ? 1 : 0;
        const std::size_t norm = next[0].op == Op::qk_norm && plan.qk_norm == QkNorm::head ? 1 : 0;
        const bool attends = next.size() > norm && next[norm].op == Op::attention &&
                             value(next[norm].in).data == value(product.out).data &&
                             layer_.program.sizes.d_head % panel_outputs == 0 &&
                             attends_by_heads(layer_.attention(next[norm]), in_.parts.front(), *scratch_.attention);
        return attends ? norm + 1 : 0;
    }
    void run_joined(const Step& product, std::span<const Step> next, bool converted, const Then& then) const {
        const View in = value(product.in), middle = value(product.out), out = value(next.back().out);
        const auto by = [&](const Units& units) {
            linear_by_units(in, linear_of(product), *scratch_.rows, middle, rounding(), converted, units,
                            scratch_.attention->slots(), then);
        };
        const LayerPlan& plan = layer_.program.plan;
        if (next[0].op == Op::activate) return by(ActivatedStrips(plan, middle, out));
        const NormWeights* const norms = next[0].op == Op::qk_norm ? &norm_of(next[0].weight) : nullptr;
        by(AttendedHeads(layer_.attention(next.back()), norms, plan.norm_eps, in_.parts.front(), middle,
                         *scratch_.attention, out));
    }
    // converted: whether its rows are converted already. then: called on one thread after the step.
    void run(const Step& step, bool converted = false, const Then& then = {}) const {
        const View in = value(step.in), out = value(step.out);
        switch (step.op) {
        case Op::linear:
            return linear(in, linear_of(step), *scratch_.rows, out, rounding(), converted, then);
        case Op::attention:
            return attention(layer_.attention(step), in_.parts, in, value(step.other), *scratch_.attention, out, then);
        case Op::cross:
            return attention(layer_.cross_attention(), in_.parts, in, {}, *scratch_.attention, out, then);
        default:
            run(step, in, out);
            if (then) parallel_for(1, 1, [&](std::ptrdiff_t) { then(); });
        }
    }

private:
    void run(const Step& step, View in, View out) const {
        const LayerPlan& plan = layer_.program.plan;
        switch (step.op) {
        case Op::lookup:
            return embed_tokens(in_.tokens, linear_of(step).weight, step.factor, out);
        case Op::embed:
            return embed_rows(*layer_.embedding, static_cast<std::size_t>(step.weight), in_.rows, in, out);
        case Op::shift:
            copy(in, out);
            return shift({step, layer_}, out);
        case Op::norm: {
            const NormWeights& w = norm_of(step.weight);
            return norm(plan.norm, in, w.weight, w.bias, plan.norm_eps, out);
        }
        case Op::bias: {
            const View& bias = layer_.weights.vectors[step.weight];
            return add_to_rows(bias, cols_of(out, step.first, bias.cols));
        }
        case Op::clip:
            return clip(plan.qkv_clip, in, out);
        case Op::qk_norm:
            return qk_norm(step, in, out);
        case Op::activate:
            return plan.gated ? activate_gated(plan.activation, in, out) : activate(plan.activation, in, out);
        case Op::gate:
            return gate(in, value(step.other), layer_.weights.vectors[step.weight], out);
        case Op::experts:
            if (step.other < 0)
                zero(out);
            else
                copy(value(step.other), out);
            return experts(layer_.program, layer_.index, linears_from(step), in, *scratch_.experts, *scratch_.rows,
                           out);
        case Op::add: {
            const View branch = value(step.other);
            if (dropout_.rate > 0) dropout_(branch, dropout_site(layer_.index, branches_before(step)));
            copy(in, out);
            return add(branch, out);
        }
        case Op::scale:
            return scale(step.factor, in, out);
        case Op::soft_cap:
            copy(in, out);
            return soft_cap(step.factor, out);
        case Op::linear:
        case Op::attention:
        case Op::cross: // run() computes these
            return;
        }
    }

    View value(int i) const { return rows_of(values_[i], 0, rows_); }
    // Rounding matters most in the head: there it would cause half of the loss of bf16 against the same weights in f32.
    Bf16Rows rounding() const { return layer_.embedding != nullptr ? Bf16Rows::floats : Bf16Rows::rounded; }
    int branches_before(const Step& step) const {
        const std::vector<Step>& steps = layer_.program.steps;
        return static_cast<int>(
            std::count_if(steps.data(), &step, [](const Step& before) { return before.op == Op::add; }));
    }
    const Linear& linear_of(const Step& step) const { return layer_.weights.linears[step.weight]; }
    const NormWeights& norm_of(int i) const { return layer_.weights.norms[i]; }

    static void clip(float most, View in, View out) {
        parallel_for(out.rows, std::max(1, 8192 / out.cols), [&](std::ptrdiff_t row) {
            const float* const from = in.row(static_cast<int>(row));
            float* const to = out.row(static_cast<int>(row));
            for (int j = 0; j < out.cols; ++j) to[j] = std::clamp(from[j], -most, most);
        });
    }
    void shift(const Shift& at, View x) const {
        constexpr int strip = 16;
        const int n = in_.parts.front().rows, strips = (n + strip - 1) / strip;
        const auto parts = static_cast<std::ptrdiff_t>(in_.parts.size());
        for (int item = 0; item < at.encodings.count(); ++item) {
            if (!at.acts(item)) continue;
            parallel_for(parts, std::max(1, 8192 / x.cols / n), [&](std::ptrdiff_t part) {
                at.encodings.keep_inputs(item, rows_of(x, static_cast<int>(part) * n, n), at.place,
                                         at.states(in_.parts[part], 0, n));
            });
            parallel_for(parts * strips, std::max(1, 8192 / (strip * x.cols)), [&](std::ptrdiff_t i) {
                const int part = static_cast<int>(i / strips), row = static_cast<int>(i % strips) * strip;
                const int rows = std::min(strip, n - row);
                at.encodings.shift(item, rows_of(x, part * n + row, rows), at.place,
                                   at.states(in_.parts[part], row, rows));
            });
        }
    }
    static void gate(View in, View x, View w, View out) {
        parallel_for(out.rows, std::max(1, 8192 / out.cols), [&](std::ptrdiff_t row) {
            const int i = static_cast<int>(row);
            const float share = sigmoid(kernels().dot(x.cols, x.row(i), w.data));
            for (int j = 0; j < out.cols; ++j) out.row(i)[j] = share * in.row(i)[j];
        });
    }
    std::span<const Linear> linears_from(const Step& step) const {
        return std::span(layer_.weights.linears).subspan(step.weight);
    }
    void qk_norm(const Step& step, View in, View out) const {
        copy(in, out);
        parallel_for(out.rows, std::max(1, 8192 / out.cols), [&](std::ptrdiff_t i) {
            int weight = step.weight;
            for (const NormedColumns& columns : normed_columns(layer_.program)) {
                const View x = view(out.row(static_cast<int>(i)) + columns.first, columns.groups, columns.width);
                rms_norm(x, norm_of(weight++).weight, layer_.program.plan.norm_eps, x);
            }
        });
    }

    const Layer& layer_;
    const PassRows& in_;
    std::span<const View> values_;
    const LayerScratch& scratch_;
    const Dropout& dropout_;
    int rows_;
};

// A step in a chain of programs, or the end.
class Cursor {
public:
    explicit Cursor(std::span<const LayerRun> runs) : runs_(runs) { enter(); }

    bool done() const { return runs_.empty(); }
    const LayerRun& layer_run() const { return runs_.front(); }
    const Step& step() const { return steps_.front(); }
    void advance() {
        steps_ = steps_.subspan(1);
        if (!steps_.empty()) return;
        runs_ = runs_.subspan(1);
        enter();
    }
    std::span<const Step> own_steps() const { return steps_; } // from this one on
    bool operator==(const Cursor& other) const {
        return runs_.size() == other.runs_.size() && steps_.size() == other.steps_.size();
    }

private:
    void enter() {
        for (; !done(); runs_ = runs_.subspan(1)) {
            steps_ = layer_run().steps.of(layer_run().layer.program);
            if (!steps_.empty()) return;
        }
    }

    std::span<const LayerRun> runs_;
    std::span<const Step> steps_ = {}; // of the first one
};

// Whether a step does not divide a row, and may run within a loop.
bool whole_rows(Op op) {
    switch (op) {
    case Op::lookup:
    case Op::norm:
    case Op::bias:
    case Op::clip:
    case Op::qk_norm:
    case Op::activate:
    case Op::gate:
    case Op::scale:
    case Op::add:
        return true;
    default:
        return false;
    }
}

} // namespace

void Dropout::operator()(View x, int site) const {
    const Random random(seed, 0xd509 + static_cast<std::uint64_t>(site));
    const auto threshold = static_cast<std::uint32_t>(rate * 0x1p32);
    const float scale = static_cast<float>(1 / (1 - rate));
    const auto fours = static_cast<std::uint64_t>((x.cols + 3) / 4);
    parallel_for(x.rows, 8, [&](std::ptrdiff_t row) {
        const std::uint64_t first =
            (step * static_cast<std::uint64_t>(x.rows) + static_cast<std::uint64_t>(row)) * fours;
        float* v = x.row(static_cast<int>(row));
        for (int j = 0; j < x.cols; j += 4) {
            const auto bits = random.four(first + static_cast<std::uint64_t>(j / 4));
            for (int l = 0; l < 4 && j + l < x.cols; ++l) v[j + l] = bits[l] < threshold ? 0 : v[j + l] * scale;
        }
    });
}

void forward(std::span<const LayerRun> runs, const PassRows& in, const LayerScratch& scratch, const Dropout& dropout) {
    const auto of = [&](const Cursor& at) { return Forward(at.layer_run(), in, scratch, dropout); };
    Cursor at(runs);
    if (at.done()) return;
    if (row_count(in, at.layer_run().values) != 1) {
        for (; !at.done(); at.advance()) of(at).run(at.step());
        return;
    }
    // Each loop over a part of a single row costs time, because threads read what others have written. The thread that
    // completes a step runs the following steps that do not divide the row.
    const auto whole = [&] { return !at.done() && whole_rows(at.step().op); };
    for (bool converted = false; !at.done();) {
        const Cursor first = at;
        const bool divides = !whole();
        if (divides) at.advance();
        const std::span<const Step> next = first.own_steps().subspan(divides ? 1 : 0);
        const std::size_t joined = divides && first.step().op == Op::linear ? of(first).joins(first.step(), next) : 0;
        for (std::size_t i = 0; i < joined; ++i) at.advance();
        const Cursor second = at;
        while (whole()) at.advance();
        const bool converts = !at.done() && at.step().op == Op::linear && of(at).converts(at.step());
        const auto rest = [&] {
            for (Cursor each = second; each != at; each.advance()) of(each).run(each.step());
            if (converts) of(at).convert(at.step());
        };
        const Then then = converts || second != at ? Then(std::ref(rest)) : Then();
        if (!divides)
            parallel_for(1, 1, [&](std::ptrdiff_t) { rest(); });
        else if (joined > 0)
            of(first).run_joined(first.step(), next.first(joined), converted, then);
        else
            of(first).run(first.step(), converted, then);
        converted = converts;
    }
}

const LayerEncodings& Layer::no_encodings() {
    static const LayerEncodings none;
    return none;
}

void remember(const Layer& layer, View encoded, View kv, RowScratch& scratch, KvCache& memory) {
    const Program& program = layer.program;
    if (program.memory < 0) return;
    const int width = program.sizes.kv_width();
    linear(encoded, layer.weights.linears[program.memory], scratch, kv);
    parallel_for(encoded.rows, std::max(1, 8192 / kv.cols), [&](std::ptrdiff_t i) {
        const View row = rows_of(kv, static_cast<int>(i), 1);
        memory.store(layer.index, 0, static_cast<int>(i), cols_of(row, 0, width), cols_of(row, width, width));
    });
}

std::vector<View> lay_out(const Program& program, const SlotMemory& m) {
    std::vector<View> views;
    for (const Value& v : program.values) views.push_back(cols_of(m[static_cast<std::size_t>(v.slot)], 0, v.width));
    return views;
}

} // namespace ordo
