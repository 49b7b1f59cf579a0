// SPDX-License-Identifier: MIT
// The difference between a model's predictions and those of a reference, such as the same weights in f32.
#pragma once

#include "model/model_access.h"

namespace ordo::bench {

struct Accuracy {
    std::int64_t tokens = 0; // predictions that were compared
    double kl = 0;           // their mean KL(reference || model), in nats
    double top1 = 0;         // fraction of predictions with the same likeliest token
};

// Cuts documents into windows of `length` tokens; the last one may be shorter. Each window starts at position 0 with an
// empty cache. Every prediction of a token in the window counts, as in `ordo perplexity`. max_tokens: the maximum
// number; 0: all. Both models are causal and have one tokenizer. Calls on_document(i) before each document. The model
// keeps its keys and values in type `cache`, the reference in f32. Throws Error(usage) if the vocabularies differ.
Accuracy measure_accuracy(const Model& reference, const Model& model, std::span<const std::vector<Token>> documents,
                          int length, std::int64_t max_tokens = 0,
                          const std::function<void(std::size_t)>& on_document = {}, CacheType cache = CacheType::f32);

} // namespace ordo::bench
