// SPDX-License-Identifier: MIT
// The common parts of GGUF's architectures: their keys, each under the architecture's prefix, and their names of
// tensors.
#pragma once

#include "formats/architecture.h"

namespace ordo {

// Reads the sizes, and the properties that the tensors show: biases, norms of queries and keys, an untied head. The
// blueprint must already have the properties that the architecture fixes (norms, their places, activation). Refuses
// keys that would change the result in an unsupported way. `read`: factors ("logit_scale") that the architecture reads
// itself.
void read_gguf_sizes(const Config& keys, const TensorStore& tensors, Blueprint& blueprint,
                     std::initializer_list<std::string_view> read = {});

// Whether each layer's keys have a window, by attention.sliding_window_pattern. It is a list, or a period, of which all
// layers but the last have one. Without the key, `period` layers repeat.
std::vector<bool> gguf_sliding_layers(const Config& keys, int n_layers, int period);

// The spec of rope, with the architecture's pairing. The frequencies come from rope.freq_base and rope.scaling.*, or
// are divided by the tensors rope_freqs, rope_factors_short and rope_factors_long.
std::string gguf_rope_spec(const Config& keys, const TensorStore& tensors, const Blueprint& blueprint,
                           std::string_view pairing);

// The names of tensors that all architectures share, after an architecture's own lines.
NameMap gguf_names(const Blueprint& blueprint, const std::vector<NameRule>& own);

} // namespace ordo
