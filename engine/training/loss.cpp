// SPDX-License-Identifier: MIT
#include "training/loss.h"

#include "core/parallel.h"
#include "kernels/kernels.h"
#include "ops/softmax.h"
#include "ops/sums.h"

#include <algorithm>
#include <cmath>

namespace ordo {
namespace {

// Computes the loss of one row x of logits. With share > 0, replaces x with share times the gradient, softmax -
// one-hot.
double row_loss(int n, float* x, Token target, float softcap, float share) {
    const Kernels& k = kernels();
    std::vector<float> slope; // derivative of the cap
    if (softcap != 0) {
        soft_cap(softcap, {x, 1, n, n});
        if (share > 0)
            for (int j = 0; j < n; ++j) slope.push_back(1 - x[j] / softcap * (x[j] / softcap));
    }
    const float right = x[target];
    const auto [largest, sum] = k.exp_row(n, x);
    if (share > 0) {
        k.scale(n, share / sum, x);
        x[target] -= share;
        for (std::size_t j = 0; j < slope.size(); ++j) x[j] *= slope[j];
    }
    return std::log(static_cast<double>(sum)) + largest - right;
}

} // namespace

double cross_entropy(View h, const Linear& head, float softcap, std::span<const Token> targets, View dh,
                     const LinearGradient& d_head, RowScratch& scratch, View logits) {
    const auto scored = std::count_if(targets.begin(), targets.end(), [](Token t) { return t >= 0; });
    if (scored == 0) {
        if (dh.data)
            parallel_for(dh.rows, 64,
                         [&](std::ptrdiff_t i) { std::fill_n(dh.row(static_cast<int>(i)), dh.cols, 0.0f); });
        return 0;
    }
    const View weight = head.weight.view();
    const float share = dh.data ? 1.0f / static_cast<float>(scored) : 0;
    Buffer<double> loss(targets.size()); // of each row, so that the order of the sum is fixed
    for (int first = 0; first < h.rows; first += logits.rows) {
        const int rows = std::min(logits.rows, h.rows - first);
        const View part = rows_of(h, first, rows), scores = rows_of(logits, 0, rows);
        scratch.product(part, Transpose::no, weight, Transpose::yes, scores);
        parallel_for(rows, 1, [&](std::ptrdiff_t row) {
            const auto i = static_cast<std::size_t>(first + row);
            float* const x = scores.row(static_cast<int>(row));
            if (targets[i] < 0) return std::fill_n(x, scores.cols, 0.0f), void();
            if (head.bias.data) kernels().add(scores.cols, head.bias.data, x);
            loss[i] = row_loss(scores.cols, x, targets[i], softcap, share);
        });
        if (!dh.data) continue;
        scratch.product(scores, Transpose::no, weight, Transpose::no, rows_of(dh, first, rows));
        scratch.product(scores, Transpose::yes, part, Transpose::no, d_head.weight, 1.0f);
        if (d_head.bias.data)
            sum_rows(rows, d_head.bias, [&](int i, float* sum) { kernels().add(scores.cols, scores.row(i), sum); });
    }
    double total = 0;
    for (const double l : loss) total += l;
    return total / static_cast<double>(scored);
}

} // namespace ordo
