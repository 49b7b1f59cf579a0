// SPDX-License-Identifier: MIT
// A mixture of experts: feed-forward branches, a few of which are used for each token (Shazeer et al. 2017, arXiv
// 1701.06538; top k of a softmax as in Jiang et al. 2024, arXiv 2401.04088).
#pragma once

#include "layers/linear.h"
#include "layers/program.h"

namespace ordo {

// Memory for the rows of one mixture.
class ExpertScratch {
public:
    ExpertScratch() = default;
    // For at most so many rows, of any layer of these programs.
    ExpertScratch(std::span<const Program> programs, int rows);
    View logits, weights;          // [rows, experts], [rows, used]
    View gathered, hidden, result; // [rows, d], [rows, d_ff or 2 d_ff], [rows, d]: of one expert
    int* chosen = nullptr;         // [rows, used]: experts, best first
    int* lists = nullptr; // [experts, rows]: the rows that chose it, times `used`, plus the index of the choice
    // [experts] of a layer: the number of rows that chose each. Each layer has its own, because a late thread of a team
    // reads these numbers when other threads are layers ahead.
    int* counts(int layer) const { return counts_ + static_cast<std::ptrdiff_t>(layer) * experts_; }

private:
    Buffer<float> floats_;
    Buffer<int> ints_;
    int* counts_ = nullptr; // [layers, experts]
    int experts_ = 0;
};

// linears: the router [experts, d], then `in` and `out` of each expert. out [n, d] += the sum over the best experts of
// their weight times their output for in [n, d]. layer: its index in the model.
void experts(const Program& program, int layer, std::span<const Linear> linears, View in, ExpertScratch& scratch,
             RowScratch& rows, View out);
// dy: the gradient of out. Adds the gradient of in to dx, and the gradients of linears to d, in their order.
void experts_backward(const Program& program, int layer, std::span<const Linear> linears, View in, View dy,
                      ExpertScratch& scratch, RowScratch& rows, View dx, std::span<const LinearGradient> d);

} // namespace ordo
