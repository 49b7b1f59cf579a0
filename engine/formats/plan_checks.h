// SPDX-License-Identifier: MIT
// What holds for the plan of every family's config.json.
#pragma once

#include "formats/architecture.h"

namespace ordo {

// Refuses keys of the class that all configurations derive from, unless they change nothing. Throws Error(model).
void refuse_for_all(const Config& config);
// A family that lets a token see those that follow has read is_causal; others refuse it. A window as wide as the
// context then hides nothing; one that would is refused, since no layer has both. Throws Error(model).
void settle_mask(const Config& config, Blueprint& blueprint);
// Embedding models and classifiers are saved without a language head, or with another head in its place.
void drop_missing_head(const Config& config, const TensorStore& tensors, const NameMap& names, Blueprint& blueprint);

} // namespace ordo
