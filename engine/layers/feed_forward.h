// SPDX-License-Identifier: MIT
#pragma once

#include "layers/linear.h"
#include "ops/activation.h"

namespace ordo {

struct FeedForward {
    Activation activation = Activation::silu;
    bool gated = true;
    Linear in;  // [d_ff, d], or gated [2 d_ff, d]: the gate's rows, then the others
    Linear out; // [d, d_ff]
};

// y = out(f(in(x))), or gated out(f(gate(x)) * up(x)). x, y [n, d]; hidden [n, d_ff or 2 d_ff] is scratch.
void feed_forward(const FeedForward& w, View x, RowScratch& scratch, View hidden, View y);

} // namespace ordo
