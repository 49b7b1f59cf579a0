// SPDX-License-Identifier: MIT
#include "layers/experts.h"

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "ops/activation.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

// The computation of one layer's mixture.
class Mixture {
public:
    Mixture(const Program& program, int layer, std::span<const Linear> linears, View in, ExpertScratch& scratch,
            RowScratch& rows)
        : plan_(program.plan), linears_(linears), in_(in), s_(scratch), rows_(rows), counts_(scratch.counts(layer)) {}

    const Linear& first(int expert) const { return linears_[1 + 2 * static_cast<std::size_t>(expert)]; }
    const Linear& second(int expert) const { return linears_[2 + 2 * static_cast<std::size_t>(expert)]; }
    int count(int expert) const { return counts_[expert]; }
    // The i-th row of an expert, and the weight of the expert in that row.
    int row(int expert, int i) const { return list(expert)[i] / plan_.experts_used; }
    float& weight(View weights, int expert, int i) const {
        return weights.row(row(expert, i))[list(expert)[i] % plan_.experts_used];
    }

    // Chooses the experts of each row, and lists the rows of each expert.
    void route() const {
        const View logits = rows_of(s_.logits, 0, in_.rows);
        linear(in_, linears_[0], rows_, cols_of(logits, 0, plan_.experts));
        parallel_for(in_.rows, std::max(1, 4096 / plan_.experts),
                     [&](std::ptrdiff_t i) { choose(static_cast<int>(i)); });
        parallel_for(plan_.experts, std::max(1, 4096 / in_.rows), [&](std::ptrdiff_t e) {
            int n = 0;
            for (int i = 0; i < in_.rows * plan_.experts_used; ++i)
                if (s_.chosen[i] == e) list(static_cast<int>(e))[n++] = i;
            counts_[e] = n;
        });
    }

    // Gathers the rows of an expert and computes its result. active: the left part of hidden, or memory of its own.
    void compute(int expert, View gathered, View hidden, View active, View result) const {
        const int n = count(expert);
        parallel_for(n, std::max(1, 16384 / in_.cols), [&](std::ptrdiff_t i) {
            std::copy_n(in_.row(row(expert, static_cast<int>(i))), in_.cols, gathered.row(static_cast<int>(i)));
        });
        linear(gathered, first(expert), rows_, hidden);
        if (plan_.gated)
            activate_gated(plan_.activation, hidden, active);
        else
            activate(plan_.activation, hidden, active);
        linear(active, second(expert), rows_, result);
    }

private:
    // A row chooses an expert at most once.
    int* list(int expert) const { return s_.lists + static_cast<std::ptrdiff_t>(expert) * s_.logits.rows; }

    // Softmax over all experts, then the best few. The lower index wins a tie.
    void choose(int i) const {
        float* const logits = s_.logits.row(i);
        const int used = plan_.experts_used;
        int* const chosen = s_.chosen + static_cast<std::ptrdiff_t>(i) * used;
        float* const weights = s_.weights.row(i);
        const float total = kernels().exp_row(plan_.experts, logits).sum; // logits to exponentials, then probabilities
        kernels().scale(plan_.experts, 1 / total, logits);
        float sum = 0;
        for (int c = 0; c < used; ++c) {
            int best = -1;
            for (int e = 0; e < plan_.experts; ++e)
                if (std::find(chosen, chosen + c, e) == chosen + c && (best < 0 || logits[e] > logits[best])) best = e;
            chosen[c] = best;
            sum += weights[c] = logits[best];
        }
        if (plan_.experts_renormalised)
            for (int c = 0; c < used; ++c) weights[c] /= sum;
    }

    const LayerPlan& plan_;
    std::span<const Linear> linears_;
    View in_;
    ExpertScratch& s_;
    RowScratch& rows_;
    int* counts_; // of this layer
};

// Computes the gradient of the router's logits, in their place, from that of the chosen weights. With probabilities p
// and weights w = p, or w = p / (sum of the chosen p): dl = p (dp - p . dp), or dl = w (dw - w . dw) for the chosen
// alone.
void through_choice(const LayerPlan& plan, int rows, const ExpertScratch& s, View d_weights) {
    parallel_for(rows, 64, [&](std::ptrdiff_t row) {
        const int i = static_cast<int>(row), used = plan.experts_used;
        float* const shares = s.logits.row(i);
        const int* const chosen = s.chosen + static_cast<std::ptrdiff_t>(i) * used;
        const float *w = s.weights.row(i), *dw = d_weights.row(i);
        float mean = 0;
        for (int c = 0; c < used; ++c) mean += w[c] * dw[c];
        for (int e = 0; e < plan.experts; ++e) shares[e] *= plan.experts_renormalised ? 0 : -mean;
        for (int c = 0; c < used; ++c) shares[chosen[c]] = w[c] * (dw[c] - mean);
    });
}

} // namespace

ExpertScratch::ExpertScratch(std::span<const Program> programs, int rows) {
    int layers = 0, used = 0, d_model = 0, inner = 0;
    for (const Program& p : programs) {
        if (p.plan.experts == 0) continue;
        layers = p.sizes.n_layers;
        experts_ = std::max(experts_, p.plan.experts);
        used = std::max(used, p.plan.experts_used);
        d_model = p.sizes.d_model;
        inner = std::max(inner, p.plan.gated ? 2 * p.sizes.d_ff : p.sizes.d_ff);
    }
    if (experts_ == 0) return;
    const auto n = static_cast<std::size_t>(rows), e = static_cast<std::size_t>(experts_);
    floats_ = Buffer<float>(n * static_cast<std::size_t>(experts_ + used + 2 * d_model + inner), Contents::any);
    float* at = floats_.data();
    for (const auto& [to, cols] :
         {std::pair{&logits, experts_}, {&weights, used}, {&gathered, d_model}, {&hidden, inner}, {&result, d_model}}) {
        *to = view(at, rows, cols);
        at += std::ptrdiff_t{rows} * cols;
    }
    ints_ = Buffer<int>(n * static_cast<std::size_t>(used) + e * n + e * static_cast<std::size_t>(layers));
    chosen = ints_.data();
    lists = chosen + std::ptrdiff_t{rows} * used;
    counts_ = lists + std::ptrdiff_t{rows} * experts_;
}

void experts(const Program& program, int layer, std::span<const Linear> linears, View in, ExpertScratch& s,
             RowScratch& rows, View out) {
    const Mixture mixture(program, layer, linears, in, s, rows);
    mixture.route();
    const int d_ff = program.sizes.d_ff;
    for (int e = 0; e < program.plan.experts; ++e) {
        const int n = mixture.count(e);
        if (n == 0) continue;
        const View hidden = cols_of(rows_of(s.hidden, 0, n), 0, mixture.first(e).weight.rows());
        const View result = rows_of(s.result, 0, n);
        mixture.compute(e, rows_of(s.gathered, 0, n), hidden, cols_of(hidden, 0, d_ff), result);
        parallel_for(n, std::max(1, 16384 / out.cols), [&](std::ptrdiff_t at) {
            const int i = static_cast<int>(at);
            kernels().axpy(out.cols, mixture.weight(s.weights, e, i), result.row(i), out.row(mixture.row(e, i)));
        });
    }
}

void experts_backward(const Program& program, int layer, std::span<const Linear> linears, View in, View dy,
                      ExpertScratch& s, RowScratch& rows, View dx, std::span<const LinearGradient> d) {
    const Mixture mixture(program, layer, linears, in, s, rows);
    const LayerPlan& plan = program.plan;
    const int d_ff = program.sizes.d_ff;
    mixture.route(); // again: the next layer's choices have overwritten them
    Tensor d_weights(in.rows, plan.experts_used), active(in.rows, d_ff), d_active(in.rows, d_ff),
        d_hidden(in.rows, s.hidden.cols), d_result(in.rows, dy.cols), d_gathered(in.rows, in.cols);
    for (int e = 0; e < plan.experts; ++e) {
        const int n = mixture.count(e);
        if (n == 0) continue;
        const int inner = mixture.first(e).weight.rows();
        const View gathered = rows_of(s.gathered, 0, n), hidden = cols_of(rows_of(s.hidden, 0, n), 0, inner),
                   result = rows_of(s.result, 0, n), d_in = cols_of(d_hidden.view(n), 0, inner);
        mixture.compute(e, gathered, hidden, active.view(n), result);
        parallel_for(n, 64, [&](std::ptrdiff_t at) {
            const int i = static_cast<int>(at);
            const float* g = dy.row(mixture.row(e, i));
            mixture.weight(d_weights.view(), e, i) = kernels().dot(dy.cols, g, result.row(i));
            const float w = mixture.weight(s.weights, e, i);
            for (int j = 0; j < dy.cols; ++j) d_result.view().row(i)[j] = w * g[j];
        });
        const std::size_t weights = 1 + 2 * static_cast<std::size_t>(e);
        linear_backward(d_result.view(n), active.view(n), mixture.second(e), rows, d_active.view(n), false,
                        d[weights + 1]);
        activation_backward(plan.activation, plan.gated, hidden, d_active.view(n), d_in);
        linear_backward(d_in, gathered, mixture.first(e), rows, d_gathered.view(n), false, d[weights]);
        parallel_for(n, 64, [&](std::ptrdiff_t at) { // an expert has each row at most once
            const int i = static_cast<int>(at);
            kernels().add(dx.cols, d_gathered.view().row(i), dx.row(mixture.row(e, i)));
        });
    }
    through_choice(plan, in.rows, s, d_weights.view());
    linear_backward(cols_of(rows_of(s.logits, 0, in.rows), 0, plan.experts), in, linears[0], rows, dx, true, d[0]);
}

} // namespace ordo
