// SPDX-License-Identifier: MIT
// The models and encodings to measure: well-known model sizes, and lists of encodings.
#pragma once

#include "model/blueprint.h"

namespace ordo::bench {

// Names of shapes: the architectures of models/list.def that are decoders, at their own sizes, then sizes known from
// llama2.c and the model hubs ("llama15m", "gpt2-124m", ...).
std::vector<std::string> shape_names();
// Throws Error(usage) for any other name.
Blueprint shape(std::string_view name);

// The number of elements in tensors of these shapes.
std::size_t parameter_count(std::span<const TensorSpec> specs);

// A trunk of 3.4 million parameters for the throughput of training: 6 layers, width 192, 6 heads, 4,096 entries,
// context 256. gated false: LayerNorm, GELU (tanh) and d_ff 768. gated true: RMSNorm, SwiGLU and d_ff 512, with as many
// parameters.
Blueprint training_trunk(bool gated);

// The entries of a comma list, "512,1024".
std::vector<std::string> split_names(std::string_view list);
// A list of encoding specs separated by ';' or ','. A comma before key=value belongs to the spec, so that
// "rope:theta=500,pairing=halves,alibi" is two specs. "all" stands for every registered encoding. Returns the specs as
// written, without repetitions.
std::vector<std::string> spec_list(std::span<const std::string> lists);
// The same list after "none", the reference for all others, whether the list has it or not.
std::vector<std::string> encoding_list(std::span<const std::string> lists);

} // namespace ordo::bench
