// SPDX-License-Identifier: MIT
// How far a model's predictions are from those of a reference, such as the same weights in f32.
#pragma once

#include "model/model.h"

namespace ordo::bench {

struct Accuracy {
    std::int64_t tokens = 0; // predictions that were compared
    double kl = 0;           // their mean KL(reference || model), in nats
    double top1 = 0;         // the share of them with the same likeliest token
};

// Documents are cut into windows of length tokens, the last may be shorter; each starts at position 0 with
// nothing before it, and every prediction of a token of the window counts, as `ordo perplexity` scores
// them. max_tokens: stop after so many, 0: all. Both models are causal, of one tokenizer.
// on_document(i) is called before each. The model's keys and values are kept as `cache` says, the reference's as f32.
// Throws Error(usage) for vocabularies that differ.
Accuracy measure_accuracy(const Model& reference, const Model& model, std::span<const std::vector<Token>> documents,
                          int length, std::int64_t max_tokens = 0,
                          const std::function<void(std::size_t)>& on_document = {}, CacheType cache = CacheType::f32);

} // namespace ordo::bench
