// SPDX-License-Identifier: MIT
// The reach of an encoding: the last position at which a model sees only situations known from its training.
//   a table                   its end
//   RoPE, xPos                position p is sound if every pair that made less than one turn in the trained context
//                             stays within the angles seen there: p f_k <= L f'_k. f_k is its frequency now, f'_k as
//                             trained, L the trained context (Peng et al. 2023, arXiv 2309.00071, section 3; Ding et
//                             al. 2024, arXiv 2402.13753)
//   added to the embedding    the trained context
//   bias of scores, or no positions    without limit: the formula continues
#pragma once

#include "encoding/base/model_encodings.h"

namespace ordo::tools {

inline constexpr int unlimited = std::numeric_limits<int>::max();

// A pair of columns that rotates.
struct PairReach {
    double frequency = 0; // radians per position
    double turns = 0;     // in the trained context, as trained
    int sound = unlimited;

    bool operator==(const PairReach&) const = default;
};

struct LayerReach {
    std::string encoding; // canonical spec of the encodings in this layer
    std::vector<PairReach> pairs;
    int sound = unlimited;

    bool operator==(const LayerReach&) const = default;
};

// The reach of one layer. context: the trained context of `trained`. Both stacks belong to one model; their tensors may
// be unbound.
LayerReach reach_of_layer(const ModelEncodings& now, const ModelEncodings& trained, int layer, int context);
// The minimum over all layers.
int sound_positions(const ModelEncodings& now, const ModelEncodings& trained, int context);

} // namespace ordo::tools
