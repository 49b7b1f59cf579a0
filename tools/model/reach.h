// SPDX-License-Identifier: MIT
// How far an encoding reaches: up to which position a model meets nothing that training has not shown it.
//   a table            its end
//   RoPE, xPos         position p is sound if every pair that has not gone round once in the trained context stays
//     within
//                      the angles seen there: p f_k <= L f'_k, f_k its frequency now and f'_k as trained (Peng et al.
//                        2023,
//                      arXiv 2309.00071, section 3; Ding et al. 2024, arXiv 2402.13753)
//   added to the embedding   the trained context
//   what biases scores goes on by its law, as does what has no positions: there is no such position
#pragma once

#include "encoding/base/stack.h"

namespace ordo::tools {

inline constexpr int unlimited = std::numeric_limits<int>::max();

// A pair of columns that turns.
struct PairReach {
    double frequency = 0; // radians per position
    double turns = 0;     // in the trained context, as trained
    int sound = unlimited;

    bool operator==(const PairReach&) const = default;
};

struct LayerReach {
    std::string encoding; // canonical spec of what acts in it
    std::vector<PairReach> pairs;
    int sound = unlimited;

    bool operator==(const LayerReach&) const = default;
};

// Of one layer. context: tokens that `trained` was trained with; both stacks are of one model, their tensors need not
// be bound.
LayerReach reach_of_layer(const EncodingStack& now, const EncodingStack& trained, int layer, int context);
// The least of all layers.
int sound_positions(const EncodingStack& now, const EncodingStack& trained, int context);

} // namespace ordo::tools
