// SPDX-License-Identifier: MIT
#pragma once

#include "layers/linear.h"

namespace ordo {

// Mean of -log softmax(cap(h head^T + bias))[target] in nats, over the rows h [n, d] whose target is >= 0. cap: s ->
// softcap tanh(s / softcap), or none if softcap is 0. With dh, writes d/dh [n, d] and adds to the head's gradient.
// logits: scratch [some rows, vocab].
double cross_entropy(View h, const Linear& head, float softcap, std::span<const Token> targets, View dh,
                     const LinearGradient& d_head, RowScratch& scratch, View logits);

} // namespace ordo
