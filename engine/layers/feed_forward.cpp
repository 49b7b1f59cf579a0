// SPDX-License-Identifier: MIT
#include "layers/feed_forward.h"

#include "core/tensor.h"

namespace ordo {

void feed_forward(const FeedForward& w, View x, RowScratch& scratch, View hidden, View y) {
    const View active = cols_of(hidden, 0, w.out.weight.cols());
    linear(x, w.in, scratch, hidden);
    if (w.gated)
        activate_gated(w.activation, hidden, active);
    else
        activate(w.activation, hidden, active);
    linear(active, w.out, scratch, y);
}

} // namespace ordo
