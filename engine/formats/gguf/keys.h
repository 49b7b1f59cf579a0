// SPDX-License-Identifier: MIT
// What GGUF's architectures have in common: their keys, under a prefix of each one's own, and their names of tensors.
#pragma once

#include "formats/architecture.h"

namespace ordo {

// The sizes, and what can be told from the tensors that are there: biases, norms of queries and keys, a head of its
// own. What an architecture fixes (norms, activation, where norms stand) is the blueprint's already. Keys that would
// change what is computed, and that we cannot follow, are refused. `read`: factors ("logit_scale") that the architecture
// reads itself.
void read_gguf_sizes(const Config& keys, const TensorStore& tensors, Blueprint& blueprint,
                     std::initializer_list<std::string_view> read = {});

// For each layer whether keys have a window: as attention.sliding_window_pattern says, a list, or how many layers
// repeat, of which all but the last have one. Where there is no such key, `period` layers repeat.
std::vector<bool> gguf_sliding_layers(const Config& keys, int n_layers, int period);

// The spec of rope, whose pairing the architecture fixes: frequencies from rope.freq_base and rope.scaling.*, or
// divided by the tensors rope_freqs, rope_factors_short and rope_factors_long.
std::string gguf_rope_spec(const Config& keys, const TensorStore& tensors, const Blueprint& blueprint,
                           std::string_view pairing);

// The names of tensors that all architectures share, behind an architecture's own lines.
NameMap gguf_names(const Blueprint& blueprint, const std::vector<NameRule>& own);

} // namespace ordo
