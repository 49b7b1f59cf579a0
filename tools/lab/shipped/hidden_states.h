// SPDX-License-Identifier: MIT
// The residual stream of a model, layer by layer, for a probe.
#pragma once

#include "core/tensor.h"

namespace ordo::lab {

// The input of the first layer and the output of each layer, [n_layers + 1] of [tokens, d_model]; positions 0, 1, ...
std::vector<Tensor> hidden_states(const Model& model, std::span<const Token> tokens);

} // namespace ordo::lab
