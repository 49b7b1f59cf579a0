// SPDX-License-Identifier: MIT
// Checks for the plan of every family's config.json.
#pragma once

#include "formats/architecture.h"

namespace ordo {

// Refuses keys of transformers' base class, unless they have the neutral value. Throws Error(model).
void refuse_for_all(const Config& config);
// For a bidirectional model, whose family has read is_causal; all others refuse the key. A window as wide as the
// context is removed, as it hides nothing. A narrower one is refused: no layer has both. Throws Error(model).
void settle_mask(const Config& config, Blueprint& blueprint);
// Embedding models and classifiers are saved without a language head, or with another head instead.
void drop_missing_head(const Config& config, const TensorStore& tensors, const NameMap& names, Blueprint& blueprint);

} // namespace ordo
