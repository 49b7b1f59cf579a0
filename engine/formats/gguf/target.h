// SPDX-License-Identifier: MIT
// Finds the GGUF architecture and keys for a model. llama.cpp ties each encoding to an architecture's name, so a
// combination that no architecture has cannot be written.
#pragma once

#include "formats/gguf/file.h"
#include "model/blueprint.h"

namespace ordo {

// The form of the model in a file.
struct GgufTarget {
    std::string architecture;
    bool fused = false;   // q, k and v in one matrix, one after another
    GgufEntries metadata; // general.architecture, and the hyperparameters
    // The pairing of rope in the model and in the file. If they differ, rows of q and k are reordered.
    bool from_adjacent = false, to_adjacent = false;
    int width = 0; // columns of a head that rotate
    // Tensors that are not weights, F32 of one row: the divisors of the frequencies.
    std::vector<std::pair<std::string, std::vector<float>>> factors;

    bool reorders() const { return width != 0 && from_adjacent != to_adjacent; }
};

// Throws Error(usage), with the property that llama.cpp does not support, and the supported ones.
GgufTarget gguf_target(const Blueprint& blueprint, std::string_view encoding, const std::string& where);

} // namespace ordo
