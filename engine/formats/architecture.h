// SPDX-License-Identifier: MIT
// An architecture as data: what models/ holds. How a family's own files become a plan and an encoding, and what they
// call its tensors.
#pragma once

#include "formats/config.h"
#include "formats/name_map.h"
#include "formats/tensor_store.h"

namespace ordo {

// What a model is made of: all that a family's hyperparameters say.
struct ModelPlan {
    Blueprint blueprint;
    std::string encoding; // spec
    std::vector<std::string> warnings = {};
};

// What a family is called and looks like in a config.json.
struct HuggingFaceFamily {
    std::vector<std::string_view> model_types;
    // The store tells what a config leaves open, such as whether there is a head. Throws Error(model).
    ModelPlan (*plan)(const Config& config, const TensorStore& tensors);
    // Made for the plan, where tables differ within a family.
    NameMap (*names)(const ModelPlan& plan);
    // What llama.cpp calls those of them that have no page for a GGUF here.
    std::vector<std::string_view> not_from_gguf = {};
};

// The same for a GGUF, whose names of tensors are the same for all: `names` are lines that come before those.
struct GgufFamily {
    std::vector<std::string_view> architectures; // values of general.architecture
    ModelPlan (*plan)(const Config& keys, const TensorStore& tensors);
    std::vector<NameRule> names = {};
};

// An architecture of models/list.def: an example of its shape, and the files that it comes in.
struct Architecture {
    std::string_view name, summary;
    Blueprint (*make)();       // with sizes that are an example
    std::string_view encoding; // the spec that it is usually built with
    HuggingFaceFamily hugging_face = {};
    GgufFamily gguf = {};
};
std::span<const Architecture> architectures();

// The architecture whose family a name of a file belongs to. Throws Error(model) with the names that there are.
const Architecture& find_hugging_face(std::string_view model_type, std::string_view where);
const Architecture& find_gguf(std::string_view architecture, std::string_view where);

} // namespace ordo
