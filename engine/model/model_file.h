// SPDX-License-Identifier: MIT
// A model as a safetensors file. Its metadata holds "ordo.format" (the version of this layout, "1"),
// "blueprint" (blueprint.h), "encoding" (a canonical spec), "tokenizer" (the text of a tokenizer.json)
// and whatever else its maker wants to say of it ("corpus", "command", ...). Its tensors are those of
// model_tensors(), stored as stored_tensor.h says.
#pragma once

#include "io/safetensors.h"
#include "model/model.h"

namespace ordo {

inline constexpr std::string_view model_format = "1";

struct ModelFile {
    Blueprint blueprint;
    std::string encoding;              // canonical spec
    std::string tokenizer;             // JSON; empty: none
    Metadata metadata;                 // what else shall be recorded
    std::vector<TensorSpec> specs;     // of model_tensors()
    std::vector<View> values;          // one for each, rows side by side (stride = cols)
    WeightType type = WeightType::f32; // of the matrices, see type_in_file()
};

// Replaces the file as a whole or not at all. Throws Error.
void write_model(const std::filesystem::path& path, const ModelFile& model);

// What the metadata says of the architecture. Throws Error(model).
Blueprint read_blueprint(const Safetensors& file);

// The same as Model::load() with bytes in memory in the place of a file; where names them.
Model load_model(const Safetensors& file, const LoadOptions& options);

} // namespace ordo
