// SPDX-License-Identifier: MIT
// Which of GGUF's architectures says what a model computes, and with which keys. llama.cpp ties an encoding to an
// architecture's name: what none of them has cannot be written.
#pragma once

#include "formats/gguf/file.h"
#include "model/blueprint.h"

namespace ordo {

// How a file shall hold the model.
struct GgufTarget {
    std::string architecture;
    bool fused = false;   // q, k and v in one matrix, one after the other
    GgufEntries metadata; // general.architecture, and the hyperparameters
    // Rope: of the model and of the file. Where they differ, rows of q and k are put in another order.
    bool from_adjacent = false, to_adjacent = false;
    int width = 0; // of a head, the columns that turn
    // Tensors that are no weights, F32 of one row: the factors of frequencies.
    std::vector<std::pair<std::string, std::vector<float>>> factors;

    bool reorders() const { return width != 0 && from_adjacent != to_adjacent; }
};

// Throws Error(usage), naming what llama.cpp has no place for, and what would work.
GgufTarget gguf_target(const Blueprint& blueprint, std::string_view encoding, const std::string& where);

} // namespace ordo
