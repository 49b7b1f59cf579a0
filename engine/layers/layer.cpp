// SPDX-License-Identifier: MIT
#include "layers/layer.h"

#include "core/random.h"
#include "layers/embedding.h"
#include "layers/layer_steps.h"
#include "ops/norm.h"
#include "ops/softmax.h"

namespace ordo {
namespace {

class Forward {
public:
    Forward(const Layer& layer, const PassRows& in, std::span<const View> values, const LayerScratch& scratch,
            const Dropout& dropout)
        : layer_(layer), in_(in), values_(values), scratch_(scratch), dropout_(dropout), rows_(row_count(in, values)) {}

    // Threads hand a single row to each other. One thread runs consecutive steps that do not divide a row, which saves
    // hand-overs.
    void run(std::span<const Step> steps) {
        while (!steps.empty()) {
            const auto end = std::find_if(steps.begin(), steps.end(), [&](const Step& s) { return !whole_rows(s.op); });
            const auto whole = rows_ == 1 ? static_cast<std::size_t>(end - steps.begin()) : 0;
            if (whole == 0)
                run(steps.front());
            else
                parallel_for(1, 1, [&](std::ptrdiff_t) {
                    for (const Step& step : steps.first(whole)) run(step);
                });
            steps = steps.subspan(std::max<std::size_t>(whole, 1));
        }
    }

private:
    // Whether a step does not divide a row, and may run within a loop. Not with dropout, which every thread counts.
    bool whole_rows(Op op) const {
        switch (op) {
        case Op::lookup:
        case Op::norm:
        case Op::bias:
        case Op::clip:
        case Op::qk_norm:
        case Op::activate:
        case Op::gate:
        case Op::scale:
            return true;
        case Op::add:
            return dropout_.rate == 0;
        default:
            return false;
        }
    }
    void run(const Step& step) {
        const LayerPlan& plan = layer_.program.plan;
        const View in = value(step.in), out = value(step.out);
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
        case Op::linear:
            // Rounding matters most in the head: there it would cause half of the loss of bf16 against the same weights
            // in f32.
            return linear(in, linear_of(step), *scratch_.rows, out, at_end() ? Bf16Rows::floats : Bf16Rows::rounded);
        case Op::bias: {
            const View& bias = layer_.weights.vectors[step.weight];
            return add_to_rows(bias, cols_of(out, step.first, bias.cols));
        }
        case Op::clip:
            return clip(plan.qkv_clip, in, out);
        case Op::qk_norm:
            return qk_norm(step, in, out);
        case Op::attention:
            return attention(layer_.attention(step), in_.parts, in, value(step.other), *scratch_.attention, out);
        case Op::cross:
            return attention(layer_.cross_attention(), in_.parts, in, {}, *scratch_.attention, out);
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
            if (dropout_.rate > 0) dropout_(branch, dropout_site(layer_.index, added_++));
            copy(in, out);
            return add(branch, out);
        }
        case Op::scale:
            return scale(step.factor, in, out);
        case Op::soft_cap:
            copy(in, out);
            return soft_cap(step.factor, out);
        }
    }

    View value(int i) const { return rows_of(values_[i], 0, rows_); }
    bool at_end() const { return layer_.embedding != nullptr; } // of the stack
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
    int rows_, added_ = 0;
};

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

void forward(const Layer& layer, const PassRows& in, std::span<const View> values, const LayerScratch& scratch,
             const Dropout& dropout, const Steps& steps) {
    Forward run(layer, in, values, scratch, dropout);
    run.run(steps.of(layer.program));
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
