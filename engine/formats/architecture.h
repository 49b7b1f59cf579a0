// SPDX-License-Identifier: MIT
// An architecture as data, defined in models/: the way from a family's own files to a plan and an encoding, and the
// names of its tensors.
#pragma once

#include "formats/config.h"
#include "formats/name_map.h"
#include "formats/tensor_store.h"

namespace ordo {

// The plan of a model, from a family's hyperparameters.
struct ModelPlan {
    Blueprint blueprint;
    std::string encoding; // spec
    std::vector<std::string> warnings = {};
};

// How a config.json of the family is recognised and read.
struct HuggingFaceFamily {
    std::vector<std::string_view> model_types;
    // The store decides questions that a config leaves open, such as whether there is a head. Throws Error(model).
    ModelPlan (*plan)(const Config& config, const TensorStore& tensors);
    // Takes the plan, because tables may differ within a family.
    NameMap (*names)(const ModelPlan& plan);
    // llama.cpp's names for models of the family that cannot be read from a GGUF here.
    std::vector<std::string_view> not_from_gguf = {};
};

// The same for a GGUF. All GGUF architectures share their names of tensors; the lines of `names` come before these.
struct GgufFamily {
    std::vector<std::string_view> architectures; // values of general.architecture
    ModelPlan (*plan)(const Config& keys, const TensorStore& tensors);
    std::vector<NameRule> names = {};
};

// An architecture of models/list.def: an example of its shape, and the files in which it comes.
struct Architecture {
    std::string_view name, summary;
    Blueprint (*make)();       // with example sizes
    std::string_view encoding; // its usual spec
    HuggingFaceFamily hugging_face = {};
    GgufFamily gguf = {};
};
std::span<const Architecture> architectures();

// The architecture for a family's name in a file. Throws Error(model) with the known names.
const Architecture& find_hugging_face(std::string_view model_type, std::string_view where);
const Architecture& find_gguf(std::string_view architecture, std::string_view where);

} // namespace ordo
