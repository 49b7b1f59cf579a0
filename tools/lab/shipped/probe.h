// SPDX-License-Identifier: MIT
// Can a linear probe read a token's position from the hidden states of a trained model?
#pragma once

#include "core/tensor.h"
#include "tools/lab/shipped/weight_files.h"

namespace ordo::lab {

// The residual stream: the input of the first layer and the output of each layer, [n_layers + 1] of [tokens, d_model];
// positions 0, 1, ...
std::vector<Tensor> hidden_states(const Model& model, std::span<const Token> tokens);

struct LayerError {
    double error = 0;          // mean absolute error in positions, on held-out windows
    double standard_error = 0; // over windows
};
struct Probe {
    std::vector<LayerError> layers; // after the embedding, then after each layer
    double guess = 0;               // the error when guessing the mean position
    int fitted = 0, held_out = 0;   // windows
};

// Uses windows of the trained length; those of every third document are held out. Throws Error(usage) if the text has
// too few.
Probe probe(const Model& model, const Text& text, int most_windows);

} // namespace ordo::lab
