// SPDX-License-Identifier: MIT
// A spec in a model: the encodings, and which of them act in which layer.
#pragma once

#include "encoding/base/stack.h"

namespace ordo {

struct EncodingPlan {
    std::vector<std::unique_ptr<Encoding>> encodings; // made for the layers that each acts in
    std::vector<EncodingSum> sums;
};

// Equal items of one pattern are one encoding. A pattern is cut to its period: pattern(rope,rope) is rope. Throws
// Error(usage).
EncodingPlan plan_encodings(std::string_view spec, const Dims& dims);

// The layers, ascending, that encoding `index` of a plan acts in.
std::vector<int> layers_of(std::span<const EncodingSum> sums, int index, int n_layers);

// The part of an encoding that others must be compatible with.
struct Neighbour {
    std::string name;
    unsigned moments = 0;
    bool stores = false; // tensors
};
// Throws Error(usage) if two would rotate in one layer, or be its sink, or if two store tensors under one name. With no
// layers, as many are looked at as the longest pattern has elements.
void check_together(std::span<const Neighbour> encodings, std::span<const EncodingSum> sums, int n_layers);
Neighbour neighbour(const Encoding& encoding);

} // namespace ordo
