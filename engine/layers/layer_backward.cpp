// SPDX-License-Identifier: MIT
#include "layers/layer_steps.h"
#include "ops/norm.h"
#include "ops/sums.h"

namespace ordo {
namespace {

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
            return layer_.embedding->embed_backward(weight, dx, in, in_.rows, {.tensors = d_.encodings[weight]});
        case Op::shift:
            shift({step, layer_}, weight, dy);
            return pass_on(step, dy, dx);
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
    void shift(const Shift& at, std::size_t of_embedding, View dy) const {
        const int n = in_.parts.front().rows;
        for (int item = at.encodings.count(); item-- > 0;)
            for (int part = 0; at.acts(item) && part < static_cast<int>(in_.parts.size()); ++part)
                at.encodings.shift_backward(item, rows_of(dy, part * n, n), at.place, at.states(in_.parts[part], 0, n),
                                            d_.encodings[at.only ? of_embedding : static_cast<std::size_t>(item)]);
    }
    void attend(const Step& step, View in, View dy, View dx) {
        const View d_normed = gradient(step.other);
        // Encodings that observe are the last readers of attention's input, so they write its gradient first.
        if (layer_.encodings.moments() & moment_observe && !accumulate(step.other)) zero(d_normed);
        accumulate(step.in);
        attention_backward(layer_.attention(step), in_.parts, in, value(step.other), value(step.out), dy, attention_,
                           dx, d_normed, d_.encodings);
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
        pass_on(step, dy, dx);
    }
    void pass_on(const Step& step, View dy, View dx) {
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

void backward(const Layer& layer, const PassRows& in, std::span<const View> values, const GradientMemory& gradients,
              AttentionGradient& attention, const LayerScratch& scratch, const LayerGradients& d,
              const Dropout& dropout, const Steps& steps) {
    Backward(layer, in, values, gradients, attention, scratch, d, dropout).run(steps.of(layer.program));
}

} // namespace ordo
