// SPDX-License-Identifier: MIT
// The residual stream of a model, layer by layer: what a probe reads.
#pragma once

#include "core/tensor.h"

namespace ordo::lab {

// What the first layer reads and what each layer leaves, [n_layers + 1] of [tokens, d_model]; positions 0, 1, ...
std::vector<Tensor> hidden_states(const Model& model, std::span<const Token> tokens);

} // namespace ordo::lab
