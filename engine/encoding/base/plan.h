// SPDX-License-Identifier: MIT
// A spec in a model: the encodings, and the layers in which each acts.
#pragma once

#include "encoding/base/model_encodings.h"

namespace ordo {

struct EncodingPlan {
    std::vector<std::unique_ptr<Encoding>> encodings; // each made for the layers in which it acts
    std::vector<EncodingSum> sums;
};

// Equal items of one pattern become one encoding. A pattern is reduced to its period: pattern(rope,rope) is rope.
// Throws Error(usage).
EncodingPlan plan_encodings(std::string_view spec, const Dims& dims);

// The layers in which encoding `index` of a plan acts, ascending.
std::vector<int> layers_of(std::span<const EncodingSum> sums, int index, int n_layers);

// The properties of an encoding that must be compatible with others.
struct Neighbour {
    std::string name;
    unsigned moments = 0;
    bool stores = false; // has tensors
    bool scales_queries = false;
    unsigned alone_at = 0;
    bool embeds = false; // acts on the embeddings, once in a model
};
// Throws Error(usage) if two encodings rotate in one layer, if two are its sink, if another one acts where one acts
// alone, or if two store tensors under one name. With n_layers = 0, it checks as many layers as the longest pattern has
// elements.
void check_together(std::span<const Neighbour> encodings, std::span<const EncodingSum> sums, int n_layers);
Neighbour neighbour(const Encoding& encoding);

} // namespace ordo
