// SPDX-License-Identifier: MIT
// A mixture of experts: feed-forward branches of which each token passes a few (Shazeer et al. 2017, arXiv 1701.06538;
// top k of a softmax as in Jiang et al. 2024, arXiv 2401.04088).
#pragma once

#include "layers/linear.h"
#include "layers/program.h"

namespace ordo {

// Room for the rows of one mixture.
class ExpertScratch {
public:
    ExpertScratch() = default;
    // Up to so many rows of any of the layers that these programs make.
    ExpertScratch(std::span<const Program> programs, int rows);
    View logits, weights;          // [rows, experts], [rows, used]
    View gathered, hidden, result; // [rows, d], [rows, d_ff or 2 d_ff], [rows, d]: those of one expert
    int* chosen = nullptr;         // [rows, used]: experts, best first
    int* lists = nullptr; // [experts, rows]: the rows that chose it, times `used`, plus the place of the choice
    // [experts] of a layer: how many rows chose each. Threads of a team go by these numbers, and one that is late reads
    // them when others are layers ahead: so each layer has its own.
    int* counts(int layer) const { return counts_ + static_cast<std::ptrdiff_t>(layer) * experts_; }

private:
    Buffer<float> floats_;
    Buffer<int> ints_;
    int* counts_ = nullptr; // [layers, experts]
    int experts_ = 0;
};

// linears: the router [experts, d], then in and out of each expert. out [n, d] += sum over the best experts of their
// weight times what they make of in [n, d]. layer: of the model.
void experts(const Program& program, int layer, std::span<const Linear> linears, View in, ExpertScratch& scratch,
             RowScratch& rows, View out);
// dy: the gradient of out. To dx, that of in, it adds, and to d, in the order of linears.
void experts_backward(const Program& program, int layer, std::span<const Linear> linears, View in, View dy,
                      ExpertScratch& scratch, RowScratch& rows, View dx, std::span<const LinearGradient> d);

} // namespace ordo
