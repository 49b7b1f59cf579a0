// SPDX-License-Identifier: MIT
// What is measured: sizes of models that people know, and lists of encodings.
#pragma once

#include "model/blueprint.h"

namespace ordo::bench {

// Names of shapes: the architectures of models/list.def that decode by themselves, at their own sizes, then sizes that
// llama2.c and the model hubs made known ("llama15m", "gpt2-124m", ...).
std::vector<std::string> shape_names();
// Throws Error(usage) for a name that is not one of them.
Blueprint shape(std::string_view name);

// Numbers in tensors of these shapes.
std::size_t parameter_count(std::span<const TensorSpec> specs);

// A trunk of 3.4 million parameters for the throughput of training: 6 layers, 192 wide, 6 heads, 4,096
// entries, context 256. gated false: LayerNorm, GELU (tanh) and d_ff 768; true: RMSNorm, SwiGLU and
// d_ff 512, which has as many parameters.
Blueprint training_trunk(bool gated);

// The entries of a comma list, "512,1024".
std::vector<std::string> split_names(std::string_view list);
// A list of encoding specs separated by ';' or ',': a comma that is followed by key=value belongs to
// the spec before it, so that "rope:theta=500,pairing=halves,alibi" is two. "all" stands for every
// registered encoding. Returned as they were written, without repetitions.
std::vector<std::string> spec_list(std::span<const std::string> lists);
// The same after "none", to which all others are compared, whether it was named or not.
std::vector<std::string> encoding_list(std::span<const std::string> lists);

} // namespace ordo::bench
