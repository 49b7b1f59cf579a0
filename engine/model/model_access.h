// SPDX-License-Identifier: MIT
// Access to the parts of a Model that the public interface hides, and random models. Model::load() is in
// formats/load_model.cpp, above the formats. This header includes no layers and no kernels.
#pragma once

#include "core/weight_type.h"
#include "encoding/base/model_encodings.h"
#include "model/blueprint.h"
#include "model/text_side.h"
#include "ordo.h"

#include <map>

namespace ordo {

using Metadata = std::map<std::string, std::string, std::less<>>;
struct Stack;

// Each throws Error(usage) for a model that was moved from.
const Blueprint& blueprint_of(const Model& model);
const ModelEncodings& encodings_of(const Model& model);
const Tokenizer* tokenizer_of(const Model& model); // null: there is none
const SpecialTokens& special_tokens_of(const Model& model);
const std::string& where_of(const Model& model); // the file, for messages
const Metadata& metadata_of(const Model& model);
// The tensors, in the order of model_tensors().
std::span<const TensorSpec> tensor_specs(const Model& model);
// Copies a tensor that the model has as floats, row by row. out: its number of elements.
void read_tensor(const Model& model, std::string_view name, std::span<float> out);

inline constexpr const char* encoder_prefix = "encoder."; // of the names of an encoder's own tensors
// Whether a tensor of that name belongs to an encoding.
bool of_encoding(std::string_view name);

// tensor_list(blueprint), then the tensors of the encodings, and of an encoder's encodings, which have the same spec.
std::vector<TensorSpec> model_tensors(const Blueprint& blueprint, const ModelEncodings& encodings);

// How a text becomes a vector, by the model's files. Uses the given pooling, else that of the files, else the mean.
// Scales the vector to length 1, unless the files say otherwise. Throws Error(model) for an unknown pooling in the
// files.
EmbedOptions embed_options(const Model& model, std::optional<Pooling> pooling = {});

// Random weights that keep activations near 1, for tests and benchmarks. Matrices are uniform with variance 1 /
// columns, vectors of norms around 1, biases around 0. A vocabulary of 257 comes with the byte tokenizer, any other
// without one.
Model random_model(const Blueprint& blueprint, ModelEncodings encodings, std::uint64_t seed,
                   WeightType type = WeightType::f32);
Model random_model(const Blueprint& blueprint, std::string_view encoding, std::uint64_t seed,
                   WeightType type = WeightType::f32);

} // namespace ordo
