// SPDX-License-Identifier: MIT
// The family of a directory whose config.json has no model_type, as in the files of 2018 to 2020.
#pragma once

#include "formats/architecture.h"

namespace ordo {

// The model_type of a config.json: that key, or the family of the class that "architectures" names first
// ("BertForMaskedLM"). Empty if there is neither.
std::string model_type_of(const JsonValue& config);

// The same, or else the family whose names the tensors have. Throws Error(model) if several families have them.
std::string model_type_of(const JsonValue& config, const TensorStore& tensors, const std::string& where);

// Removes a level that a training program has put before all names, such as "module." or "model.", if the family's
// embedding has no other name.
void remove_level(TensorStore& tensors, const NameMap& names);

// The names of a family for a model of its example shape.
NameMap example_names(const Architecture& family);

} // namespace ordo
