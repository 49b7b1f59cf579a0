// SPDX-License-Identifier: MIT
// The tensors of a model as its file holds them: F32, F16, BF16, or the blocks of q8_0 and q4_0 as bytes,
// U8 [rows, row_bytes()], which their shape tells apart.
#pragma once

#include "core/weight_type.h"
#include "io/safetensors.h"

#include <optional>

namespace ordo {

// The type that a tensor is stored in; none if it is no weight of the spec's shape.
std::optional<WeightType> stored_type(const TensorInfo& info, const TensorSpec& spec);

// The tensor of a file for a spec. Throws Error(model), or Error(code) for one that is absent or of
// another shape; why is added to that message.
const TensorInfo& find_tensor(const Safetensors& file, const TensorSpec& spec, ErrorCode code = ErrorCode::model,
                              const std::string& why = {});

// Its values as floats, one for each that the spec counts. Throws Error(model) for one that is not finite.
void read_tensor(const Safetensors& file, const TensorInfo& info, const TensorSpec& spec, std::span<float> out);
// The same for a part of one that is not stored in blocks, by the calling thread alone: as many values as
// out has, from `first` on.
void read_tensor_part(const Safetensors& file, const TensorInfo& info, std::size_t first, std::span<float> out);

// The bytes of one that is stored in blocks. Throws Error(model) for a scale that is not finite.
std::vector<std::byte> read_stored_blocks(const Safetensors& file, const TensorInfo& info, const TensorSpec& spec);

// The type that a tensor gets in a file of weights of the type asked for: halves hold everything; beside
// blocks the rules of type_within() hold.
WeightType type_in_file(WeightType wanted, const TensorSpec& spec);

} // namespace ordo
