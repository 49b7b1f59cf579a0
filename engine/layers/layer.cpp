// SPDX-License-Identifier: MIT
#include "layers/layer.h"

#include "core/parallel.h"
#include "core/random.h"
#include "kernels/kernels.h"
#include "layers/embedding.h"
#include "ops/norm.h"
#include "ops/softmax.h"
#include "ops/sums.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ordo {
namespace {

void copy(View from, View to) {
    if (from.data == to.data) return;
    parallel_for(from.rows, 64, [&](std::ptrdiff_t i) {
        std::copy_n(from.row(static_cast<int>(i)), from.cols, to.row(static_cast<int>(i)));
    });
}

void zero(View x) {
    parallel_for(x.rows, std::max(1, 16384 / x.cols),
                 [&](std::ptrdiff_t i) { std::fill_n(x.row(static_cast<int>(i)), x.cols, 0.0f); });
}

float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}

// to += from
void add(View from, View to) {
    const Kernels& k = kernels();
    parallel_for(to.rows, std::max(1, 16384 / to.cols),
                 [&](std::ptrdiff_t i) { k.add(to.cols, from.row(static_cast<int>(i)), to.row(static_cast<int>(i))); });
}

void add_to_rows(View bias, View to) {
    const Kernels& k = kernels();
    parallel_for(to.rows, std::max(1, 16384 / to.cols),
                 [&](std::ptrdiff_t i) { k.add(to.cols, bias.data, to.row(static_cast<int>(i))); });
}

// to = factor * from
void scale(float factor, View from, View to) {
    copy(from, to);
    parallel_for(to.rows, std::max(1, 16384 / to.cols),
                 [&](std::ptrdiff_t i) { kernels().scale(to.cols, factor, to.row(static_cast<int>(i))); });
}

int row_count(const PassRows& in, std::span<const View> values) {
    return in.parts.empty() ? values.front().rows : static_cast<int>(in.parts.size()) * in.parts.front().rows;
}

// The columns of queries or of keys in rows [n, qkv_width], as groups with one norm each: one for each head, or one.
struct NormedColumns {
    int first, width, groups;
};
std::array<NormedColumns, 2> normed_columns(const Program& program) {
    const LayerSizes& s = program.sizes;
    const bool head = program.plan.qk_norm == QkNorm::head;
    const int q = head ? s.d_head : s.q_width(), k = head ? s.d_head : s.kv_width();
    return {NormedColumns{0, q, s.q_width() / q}, NormedColumns{s.q_width(), k, s.kv_width() / k}};
}

// The dropout site of a layer's branch. The sites of third branches come after those of all layers.
int dropout_site(int layer, int branch) {
    return branch < 2 ? 1 + 2 * layer + branch : (1 << 16) + layer;
}

class Forward {
public:
    Forward(const Layer& layer, const PassRows& in, std::span<const View> values, const LayerScratch& scratch,
            const Dropout& dropout)
        : layer_(layer), in_(in), values_(values), scratch_(scratch), dropout_(dropout), rows_(row_count(in, values)) {}

    void run(const Step& step) {
        const LayerPlan& plan = layer_.program.plan;
        const View in = value(step.in), out = value(step.out);
        switch (step.op) {
        case Op::lookup:
            return embed_tokens(in_.tokens, linear_of(step).weight, step.factor, out);
        case Op::embed:
            return embed_rows(*layer_.embedding, *layer_.embedding->items()[step.weight], in_.rows, in, out);
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
            return attention(layer_.attention(), in_.parts, in, value(step.other), *scratch_.attention, out);
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

private:
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

// Runs the steps in reverse order. Gradients of one slot share memory, as inference's values do. The first gradient of
// a value is written; gradients from other steps that read the value are added.
class Backward {
public:
    Backward(const Layer& layer, const PassRows& in, std::span<const View> values, const GradientMemory& gradients,
             AttentionGradient& attention, const LayerScratch& scratch, const LayerGradients& d, const Dropout& dropout)
        : layer_(layer), in_(in), values_(values), gradients_(gradients), attention_(attention), scratch_(scratch),
          d_(d), dropout_(dropout), written_(values.size()), rows_(row_count(in, values)) {}

    void run(std::span<const Step> steps) {
        added_ =
            static_cast<int>(std::count_if(steps.begin(), steps.end(), [](const Step& s) { return s.op == Op::add; }));
        for (std::size_t i = steps.size(); i-- > 0;) run(steps[i]);
    }

private:
    View value(int i) const { return rows_of(values_[i], 0, rows_); }
    View gradient(int i) const {
        const Value& v = layer_.program.values[i];
        return cols_of(rows_of(gradients_.slots[static_cast<std::size_t>(v.slot)], 0, rows_), 0, v.width);
    }
    // Whether the gradient of a value has been written before; marks it as written.
    bool accumulate(int i) {
        const bool before = written_[i];
        written_[i] = true;
        return before;
    }

    void run(const Step& step) {
        const LayerPlan& plan = layer_.program.plan;
        const auto weight = static_cast<std::size_t>(step.weight);
        const View dy = gradient(step.out), dx = gradient(step.in), in = value(step.in);
        switch (step.op) {
        case Op::lookup:
            for (int i = 0; i < rows_; ++i)
                kernels().axpy(dy.cols, step.factor, dy.row(i), d_.linears[weight].weight.row(in_.tokens[i]));
            return;
        case Op::embed:
            accumulate(step.in);
            return layer_.embedding->items()[weight]->embed_backward(dx, in, in_.rows,
                                                                     {.tensors = d_.encodings[weight]});
        case Op::norm:
            return norm_backward(plan.norm, in, layer_.weights.norms[weight].weight, plan.norm_eps, dy, dx,
                                 accumulate(step.in), d_.norms[weight].weight, d_.norms[weight].bias);
        case Op::linear:
            return linear_backward(dy, in, layer_.weights.linears[weight], *scratch_.rows, dx, accumulate(step.in),
                                   d_.linears[weight]);
        case Op::bias: {
            const View d = d_.vectors[weight];
            return sum_rows(rows_, d, [&](int i, float* sum) { kernels().add(d.cols, dy.row(i) + step.first, sum); });
        }
        case Op::clip:
            accumulate(step.in);
            return clip(plan.qkv_clip, in, dy);
        case Op::qk_norm:
            accumulate(step.in);
            return qk_norm(step, in, dy);
        case Op::attention:
            return attend(step, in, dy, dx);
        case Op::cross:
            accumulate(step.in);
            return cross_attention_backward(layer_.cross_attention(), in_.parts, in, gradients_.memory, value(step.out),
                                            dy, attention_, dx, gradients_.d_memory);
        case Op::activate:
            accumulate(step.in);
            return activation_backward(plan.activation, plan.gated, in, dy, dx);
        case Op::gate: {
            const View d_other = gradient(step.other);
            if (!accumulate(step.other)) zero(d_other);
            accumulate(step.in);
            return gate(in, value(step.other), layer_.weights.vectors[weight], dy, dx, d_other, d_.vectors[weight]);
        }
        case Op::experts:
            return experts(step, in, dy, dx);
        case Op::add:
            return branch_joins(step, dy, dx);
        case Op::scale:
            accumulate(step.in);
            return scale(step.factor, dy, dx);
        case Op::soft_cap:
            return; // the loss includes its gradient
        }
    }
    void attend(const Step& step, View in, View dy, View dx) {
        const View d_normed = gradient(step.other);
        // Encodings that observe are the last readers of attention's input, so they write its gradient first.
        if (layer_.encodings.moments() & moment_observe && !accumulate(step.other)) zero(d_normed);
        accumulate(step.in);
        attention_backward(layer_.attention(), in_.parts, in, value(step.other), value(step.out), dy, attention_, dx,
                           d_normed, d_.encodings);
    }
    void experts(const Step& step, View in, View dy, View dx) {
        const auto weight = static_cast<std::size_t>(step.weight);
        if (step.other >= 0) {
            accumulate(step.other);
            copy(dy, gradient(step.other));
        }
        if (!accumulate(step.in)) zero(dx);
        experts_backward(layer_.program, layer_.index, std::span(layer_.weights.linears).subspan(weight), in, dy,
                         *scratch_.experts, *scratch_.rows, dx, std::span(d_.linears).subspan(weight));
    }
    void branch_joins(const Step& step, View dy, View dx) {
        const View branch = gradient(step.other);
        accumulate(step.other);
        copy(dy, branch);
        if (dropout_.rate > 0) dropout_(branch, dropout_site(layer_.index, --added_));
        if (!accumulate(step.in))
            copy(dy, dx);
        else if (dx.data != dy.data)
            add(dy, dx);
    }
    // With s = sigmoid(x . w) and y = s in: d_in = s dy. Through the sigmoid: g = s (1 - s) (in . dy), d_x += g w and
    // d_w += g x. d_in may be dy.
    void gate(View in, View x, View w, View dy, View d_in, View d_x, View d_w) const {
        std::vector<float> through(static_cast<std::size_t>(rows_));
        parallel_for(rows_, std::max(1, 8192 / in.cols), [&](std::ptrdiff_t row) {
            const int i = static_cast<int>(row);
            const float share = sigmoid(kernels().dot(x.cols, x.row(i), w.data));
            float& g = through[row];
            g = share * (1 - share) * kernels().dot(in.cols, in.row(i), dy.row(i));
            for (int j = 0; j < in.cols; ++j) d_in.row(i)[j] = share * dy.row(i)[j];
            kernels().axpy(x.cols, g, w.data, d_x.row(i));
        });
        sum_rows(rows_, d_w, [&](int i, float* sum) { kernels().axpy(x.cols, through[i], x.row(i), sum); });
    }
    // In place: clipped values have no gradient.
    static void clip(float most, View in, View d) {
        parallel_for(in.rows, std::max(1, 8192 / in.cols), [&](std::ptrdiff_t i) {
            const float* const x = in.row(static_cast<int>(i));
            float* const dx = d.row(static_cast<int>(i));
            for (int j = 0; j < in.cols; ++j) dx[j] = std::abs(x[j]) <= most ? dx[j] : 0;
        });
    }
    // In place: the values' gradient is unchanged, as only queries and keys are normalised.
    void qk_norm(const Step& step, View in, View d) const {
        auto weight = static_cast<std::size_t>(step.weight);
        for (const NormedColumns& columns : normed_columns(layer_.program)) {
            for (int g = 0; g < columns.groups; ++g) {
                const int first = columns.first + g * columns.width;
                const View dx = cols_of(d, first, columns.width);
                norm_backward(Norm::rms, cols_of(in, first, columns.width), layer_.weights.norms[weight].weight,
                              layer_.program.plan.norm_eps, dx, dx, false, d_.norms[weight].weight, {});
            }
            ++weight;
        }
    }

    const Layer& layer_;
    const PassRows& in_;
    std::span<const View> values_;
    const GradientMemory& gradients_;
    AttentionGradient& attention_;
    const LayerScratch& scratch_;
    const LayerGradients& d_;
    const Dropout& dropout_;
    std::vector<bool> written_;
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
    for (const Step& step : steps.of(layer.program)) run.run(step);
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

void backward(const Layer& layer, const PassRows& in, std::span<const View> values, const GradientMemory& gradients,
              AttentionGradient& attention, const LayerScratch& scratch, const LayerGradients& d,
              const Dropout& dropout, const Steps& steps) {
    Backward(layer, in, values, gradients, attention, scratch, d, dropout).run(steps.of(layer.program));
}

} // namespace ordo
